import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import Postgres
import ReceiptdConfiguration

struct ParkedCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "parked",
        abstract: "Lists, retries and rejects parked submissions, which wait in PostgreSQL for Apple.",
        subcommands: [List.self, Retry.self, Reject.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists parked submissions, oldest first.")

        @OptionGroup var list: WaitingListOptions<ParkingReason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            try await list.show(ParkedAdministration(pool: pool), as: ParkedTable.self)
        }
    }

    struct Retry: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "retry", abstract: "Retries parked submissions: a worker tries them within seconds.")

        @OptionGroup var choice: WaitingChoice<ParkingReason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = ParkedAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try choice.requireAny(found.all, "parked")
            let count = choice.count(found.all - found.leased)
            if choice.operation.dryRun { return print("\(count) would be due now; nothing was done") }
            var progress = ProgressBar("retrying")
            let due = try await ConsoleChanges(pool: pool).record(
                .retry, of: choice.filter.subject, shown: count, by: choice.operation.name,
                telling: { "\($0) due now" },
                making: {
                    try await store.retry(choice.filter, limit: choice.rows.limit) { done in
                        progress.show(min(done, found.all), of: found.all)
                    }
                })
            progress.end()
            print("\(due) due now" + (found.leased > 0 ? ", a worker is trying \(found.leased) already" : ""))
        }
    }

    struct Reject: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "reject",
            abstract: """
                Rejects parked submissions: a worker publishes receipt.rejected with refused_by_operator. You cannot undo \
                it.
                """)

        @OptionGroup var choice: WaitingChoice<ParkingReason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = ParkedAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try await choice.requireOnePlayer(of: found.all, "parked", in: store, \.playerID)
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
