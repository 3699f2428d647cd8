import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

/// Subscriptions as Apple last told them.
struct SubscriptionsCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions", abstract: "Auto-renewable subscriptions, as Apple last reported them.",
        subcommands: [List.self, Check.self, Transfer.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the subscriptions that receiptd follows, the newest change first.")

        @Flag(help: "One JSON document on standard output.") var json = false
        @Flag(help: "All of them, not only the newest \(RowLimit.page).") var all = false
        @Option(help: "The most rows to show, newest first.") var limit: Int?
        @Option(help: "Only this app's.") var bundle: String?
        @Option(help: "Only those in this state.") var state: SubscriptionState?
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = SubscriptionFilter(bundleID: bundle, state: state)
            let store = SubscriptionAdministration(pool: pool)
            let total = try await store.count(filter)
            let shown = try await store.list(filter, limit: RowLimit.rows(limit, all: all))
            SubscriptionsTable.print(shown, total: total, asJSON: json)
        }
    }

    struct Check: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Asks Apple about a subscription now, whether it is due or not.")

        @Argument(help: "Its original transaction id.") var originalTransactionID: String
        @OptionGroup var options: SettingsOptions

        func validate() throws { try SubscriptionsCommand.validate(originalTransactionID) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let original = StoreTransactionID(originalTransactionID)
            let check = SubscriptionCheckNow(settings: settings, secrets: options.secrets, pool: pool)
            let events = try await check.run(original)
            guard let known = try await PostgresSubscriptions(pool: pool).known([original]).first else { return }
            let end = known.expiresAt.map { ", its period ends at \($0.rfc3339)" } ?? ""
            let change = events == 0 ? "as it was" : "changed, a worker publishes it within seconds"
            print("\(known.state.rawValue)\(end): \(change)")
        }
    }

    struct Transfer: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "transfer",
            abstract: "Gives a subscription's future periods to another player. What was granted stays.")

        @Argument(help: "Its original transaction id.") var originalTransactionID: String
        @Argument(help: "The player who gets its periods from now on.") var playerID: String
        @Option(help: "The reason, kept with the transfer.") var note: String?
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws {
            try SubscriptionsCommand.validate(originalTransactionID)
            let scalars = playerID.unicodeScalars
            guard (1...SubmissionLimits.maximumNameScalars).contains(scalars.count), !scalars.contains("\0") else {
                throw ValidationError("A player id is 1 to \(SubmissionLimits.maximumNameScalars) characters.")
            }
            guard note?.unicodeScalars.contains("\0") != true else { throw ValidationError("--note holds no NUL.") }
        }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let original = StoreTransactionID(originalTransactionID)
            let shown = ShownText.quoted(originalTransactionID)
            if operation.dryRun {
                let known = try await PostgresSubscriptions(pool: pool).known([original]).first
                guard let known else { throw CommandFailure("\(shown) is no subscription that is followed", code: 1) }
                return print("would go from \(ShownText.quoted(known.player.text)); nothing was done")
            }
            let result = try await SubscriptionAdministration(pool: pool).transfer(
                original, to: PlayerID(playerID), by: operation.name, note: note)
            switch result {
            case .done(let before):
                print("future periods go from \(ShownText.quoted(before.text)) to \(ShownText.quoted(playerID))")
            case .unchanged: print("it is this player's already; nothing was done")
            case .unknown: throw CommandFailure("\(shown) is no subscription that is followed", code: 1)
            case .held(let count):
                throw CommandFailure(
                    "\(count) of its transactions are held for its owner: release or reject them first", code: 1)
            }
        }
    }

    static func validate(_ original: String) throws {
        guard TransactionIDText.isSound(original) else {
            throw ValidationError("\(ShownText.quoted(original)) is not \(TransactionIDText.requirement).")
        }
    }
}

extension SubscriptionState: ExpressibleByArgument {}
