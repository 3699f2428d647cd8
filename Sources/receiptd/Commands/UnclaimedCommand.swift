import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import Postgres
import ReceiptdConfiguration

struct UnclaimedCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "unclaimed",
        abstract: "Lists and retries unclaimed purchases, which Apple announced and no known player owns.",
        subcommands: [List.self, Retry.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists unclaimed purchases, oldest first.")

        @OptionGroup var list: WaitingListOptions<UnclaimedReason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            try await list.show(UnclaimedAdministration(pool: pool), as: UnclaimedTable.self)
        }
    }

    struct Retry: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Retries unclaimed purchases, including those that crashed a worker.")

        @OptionGroup var choice: WaitingChoice<UnclaimedReason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = choice.filter
            let store = UnclaimedAdministration(pool: pool)
            let found = try await store.count(filter).all
            try choice.requireAny(found, "unclaimed")
            // A retried purchase may become unclaimed again at once. So the command makes at most `count` retries.
            let count = choice.count(found)
            if choice.operation.dryRun { return print("\(count) would be due now; nothing was done") }
            let due = try await ConsoleChanges(pool: pool).record(
                .retryUnclaimed, of: filter.subject, shown: count, by: choice.operation.name,
                telling: { "\($0) due now" }, making: { try await store.retry(filter, limit: count) })
            print("\(due) due now")
        }
    }
}
