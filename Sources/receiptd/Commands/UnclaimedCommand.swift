import Administration
import ArgumentParser
import Fulfillment
import Ledger
import Postgres
import ReceiptdConfiguration

/// Purchases that Apple announced and that belong to no known player.
struct UnclaimedCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "unclaimed", abstract: "Purchases that Apple announced and that belong to no known player.",
        subcommands: [List.self, Retry.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists unclaimed purchases, oldest first.")
        /// Rows without `--all`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Flag(help: "All of them, not only the oldest \(Self.page).") var all = false
        @Option(help: "The most rows to show, oldest first.") var limit: Int?
        @Option(help: "Only this app's.") var bundle: String?
        @Option(help: "Only purchases unclaimed for this reason.") var reason: UnclaimedReason?
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = UnclaimedFilter(bundleID: bundle, reason: reason)
            let store = UnclaimedAdministration(pool: pool)
            let total = try await store.count(filter).all
            let shown = try await store.list(filter, limit: RowLimit.rows(limit, all: all, page: Self.page))
            print(
                json
                    ? UnclaimedTable.json(shown, total: total)
                    : UnclaimedTable.text(shown, total: total, width: Terminal.outputWidth))
        }
    }

    struct Retry: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Retries unclaimed purchases, including those that crashed a worker.")

        @Argument(help: "A transaction id, as `unclaimed list` shows it.") var transactionID: String?
        @Flag(help: "All unclaimed purchases that match --bundle and --reason.") var all = false
        @Option(help: "With --all: only this app's.") var bundle: String?
        @Option(help: "With --all: only purchases unclaimed for this reason.") var reason: UnclaimedReason?
        @Option(help: "With --all: change at most this many.") var limit: Int?
        @OptionGroup var operation: OperatorOptions
        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard (transactionID != nil) != all else { throw ValidationError("Name a transaction id, or say --all.") }
            guard all || (bundle == nil && reason == nil && limit == nil) else {
                throw ValidationError("--bundle, --reason and --limit go with --all.")
            }
            try RowLimit.validate(limit)
        }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = UnclaimedFilter(bundleID: bundle, reason: reason, transactionID: transactionID)
            let store = UnclaimedAdministration(pool: pool)
            let found = try await store.count(filter).all
            if found == 0, let transactionID {
                throw CommandFailure("\(ShownText.quoted(transactionID)) is not unclaimed", code: 1)
            }
            // The limit counts found ones: one may be unclaimed again before the last is due.
            let count = min(found, limit ?? found)
            if operation.dryRun { return print("\(count) would be due now; nothing was done") }
            let due = try await ConsoleChanges(pool: pool).record(
                .retryUnclaimed, of: filter.subject, shown: count, by: operation.name,
                telling: { "\($0) are due now" }, making: { try await store.retry(filter, limit: count) })
            print("\(due) are due now")
        }
    }
}

extension UnclaimedReason: ExpressibleByArgument {}
