import Administration
import ArgumentParser
import Fulfillment
import Ledger
import Postgres
import ReceiptdConfiguration

/// Purchases that Apple told of and that belong to no known player.
struct UnclaimedCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "unclaimed", abstract: "Purchases that Apple told of and that belong to no known player.",
        subcommands: [List.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "What nobody submitted and nobody is known for, oldest first.")
        /// Rows without `--all`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Flag(help: "Every one, and not only the oldest \(Self.page).") var all = false
        @Option(help: "At most so many, the oldest.") var limit: Int?
        @Option(help: "Only this app's.") var bundle: String?
        @Option(help: "Only those that are unclaimed for this reason.") var reason: UnclaimedReason?
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = UnclaimedFilter(bundleID: bundle, reason: reason)
            let store = UnclaimedAdministration(pool: pool)
            let total = try await store.count(filter)
            let shown = try await store.list(filter, limit: RowLimit.rows(limit, all: all, page: Self.page))
            print(
                json
                    ? UnclaimedTable.json(shown, total: total)
                    : UnclaimedTable.text(shown, total: total, width: Terminal.outputWidth))
        }
    }
}

extension UnclaimedReason: ExpressibleByArgument {}
