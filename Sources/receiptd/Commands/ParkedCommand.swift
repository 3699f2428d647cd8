import Administration
import ArgumentParser
import Foundation
import Fulfillment
import Ledger
import Postgres
import ReceiptdConfiguration

/// The commands about submissions that wait in PostgreSQL.
struct ParkedCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "parked", abstract: "Submissions that wait in PostgreSQL.",
        subcommands: [List.self, Retry.self, Reject.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists parked submissions, oldest first.")
        /// Rows without `--all`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Flag(help: "All of them, not only the oldest \(Self.page).") var all = false
        @Option(help: "The most rows to show, oldest first.") var limit: Int?
        @Option(help: "Only this app's.") var bundle: String?
        @Option(help: "Only submissions parked for this reason.") var reason: ParkingReason?
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = ParkedFilter(bundleID: bundle, reason: reason)
            let store = ParkedAdministration(pool: pool)
            let total = try await store.count(filter).all
            let shown = try await store.list(filter, limit: RowLimit.rows(limit, all: all, page: Self.page))
            print(
                json
                    ? ParkedTable.json(shown, total: total)
                    : ParkedTable.text(shown, total: total, width: Terminal.outputWidth))
        }
    }

    struct Retry: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Retries parked submissions: a worker tries them within seconds.")

        @OptionGroup var choice: ParkedChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = ParkedAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try choice.requireAny(found)
            let count = choice.count(found.all - found.leased)
            if choice.operation.dryRun { return print("\(count) would be due now; nothing was done") }
            var progress = ProgressBar("retrying")
            let due = try await ConsoleChanges(pool: pool).record(
                .retry, of: choice.filter.subject, shown: count, by: choice.operation.name,
                telling: { "\($0) are due now" },
                making: {
                    try await store.retry(choice.filter, limit: choice.limit) { done in
                        progress.show(min(done, found.all), of: found.all)
                    }
                })
            progress.end()
            print("\(due) are due now" + (found.leased > 0 ? ", \(found.leased) are being tried" : ""))
        }
    }

    struct Reject: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "reject",
            abstract: "Rejects submissions: receipt.rejected with refused_by_operator. This cannot be undone.")

        @OptionGroup var choice: ParkedChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let found = try await ParkedAdministration(pool: pool).count(choice.filter)
            try choice.requireAny(found)
            let count = choice.count(found.all)
            if choice.operation.dryRun { return print("\(count) would be rejected; nothing was done") }
            if choice.all { try choice.operation.confirm("reject \(count) parked submissions") }
            var progress = ProgressBar("rejecting")
            let ended = try await ConsoleChanges(pool: pool).record(
                .rejectParked, of: choice.filter.subject, shown: count, by: choice.operation.name
            ) {
                try await ParkedRejection(pool: pool, by: choice.operation.name).run(choice.filter, limit: count) {
                    done in
                    progress.show(min(done, count), of: count)
                }
            }
            progress.end()
            print(ended.description)
            if !ended.isComplete { throw ExitCode(1) }
        }
    }
}

/// One submission by its id, or all of an app, of a reason, or of both.
struct ParkedChoice: ParsableArguments {
    @Argument(help: "A submission id, as `parked list` shows it. Several players may have chosen the same.")
    var submissionID: String?
    @Flag(help: "All parked submissions that match --bundle and --reason.") var all = false
    @Option(help: "With --all: only this app's.") var bundle: String?
    @Option(help: "With --all: only submissions parked for this reason.") var reason: ParkingReason?
    @Option(help: "With --all: change at most this many.") var limit: Int?
    @OptionGroup var operation: OperatorOptions

    func validate() throws {
        guard (submissionID != nil) != all else { throw ValidationError("Name a submission id, or say --all.") }
        guard all || (bundle == nil && reason == nil && limit == nil) else {
            throw ValidationError("--bundle, --reason and --limit go with --all.")
        }
        try RowLimit.validate(limit)
    }

    /// Returns how many of so many found ones are meant.
    func count(_ found: Int) -> Int { min(found, limit ?? found) }

    var filter: ParkedFilter { ParkedFilter(submissionID: submissionID, bundleID: bundle, reason: reason) }

    /// Exit 1 where a submission is named that does not wait.
    func requireAny(_ found: ParkedAdministration.Count) throws {
        guard found.all == 0, let submissionID else { return }
        throw CommandFailure("\(ShownText.quoted(submissionID)) is not parked", code: 1)
    }
}

extension ParkingReason: ExpressibleByArgument {}
