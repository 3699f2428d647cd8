import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct SubscriptionsCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions", abstract: "Lists, checks and transfers auto-renewable subscriptions.",
        subcommands: [List.self, Check.self, Transfer.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists subscriptions as Apple last reported them, newest change first.")

        @Flag(help: "Print one JSON document on standard output.") var json = false
        @Flag(help: "Show all subscriptions, not only the newest \(RowLimit.page).") var all = false
        @Option(help: "Show at most this many subscriptions, newest change first.") var limit: Int?
        @Option(help: "Only subscriptions of this app.") var bundle: String?
        @Option(help: "Only subscriptions in this state.") var state: SubscriptionState?
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

        @Argument(help: "The subscription's original transaction id.") var originalTransactionID: String
        @OptionGroup var options: SettingsOptions

        func validate() throws { try SubscriptionsCommand.validate(originalTransactionID) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let original = StoreTransactionID(originalTransactionID)
            let check = SubscriptionCheckNow(settings: settings, secrets: options.secrets, pool: pool)
            let events = try await check.run(original)
            guard let known = try await PostgresSubscriptions(pool: pool).known([original]).first else { return }
            let end = known.expiresAt.map { ", its period ends at \($0.rfc3339)" } ?? ""
            let change = events == 0 ? "unchanged" : "changed; a worker publishes the events within seconds"
            print("\(known.state.rawValue)\(end): \(change)")
        }
    }

    struct Transfer: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "transfer",
            abstract: "Gives a subscription's future periods to another player. Grants stay with their player.")

        @Argument(help: "The subscription's original transaction id.") var originalTransactionID: String
        @Argument(help: "The player who gets the future periods.") var playerID: String
        @Option(help: "Your reason, stored with the transfer.") var note: String?
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws {
            try SubscriptionsCommand.validate(originalTransactionID)
            let scalars = playerID.unicodeScalars
            guard (1...SubmissionLimits.maximumNameScalars).contains(scalars.count), !scalars.contains("\0") else {
                throw ValidationError("A player id must have 1 to \(SubmissionLimits.maximumNameScalars) characters.")
            }
            guard note?.unicodeScalars.contains("\0") != true else {
                throw ValidationError("--note must not contain NUL.")
            }
        }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let original = StoreTransactionID(originalTransactionID)
            let shown = ShownText.quoted(originalTransactionID)
            if operation.dryRun {
                let known = try await PostgresSubscriptions(pool: pool).known([original]).first
                guard let known else { throw CommandFailure("receiptd knows no subscription \(shown)", code: 1) }
                return print("would take future periods from \(ShownText.quoted(known.player.text)); nothing was done")
            }
            let result = try await SubscriptionAdministration(pool: pool).transfer(
                original, to: PlayerID(playerID), by: operation.name, note: note)
            switch result {
            case .done(let before):
                print("future periods go from \(ShownText.quoted(before.text)) to \(ShownText.quoted(playerID))")
            case .unchanged: print("the player has this subscription already; nothing was done")
            case .unknown: throw CommandFailure("receiptd knows no subscription \(shown)", code: 1)
            case .held(let count):
                throw CommandFailure(
                    "\(count) transactions of the subscription are held for its owner: release or reject them first",
                    code: 1)
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
