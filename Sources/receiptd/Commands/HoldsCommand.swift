import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct HoldsCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "holds",
        abstract: "Lists, releases and rejects held transactions, which are paid and wait for an operator.",
        subcommands: [List.self, Release.self, Reject.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists holds, oldest first.")

        @OptionGroup var list: WaitingListOptions<Reason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            try await list.show(HoldAdministration(pool: pool), as: HoldsTable.self)
        }
    }

    struct Release: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "release",
            abstract: """
                Releases holds: waives each hold's reason. A worker then asks Apple again and applies the other rules.
                """)

        @OptionGroup var choice: WaitingChoice<Reason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = HoldAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try await choice.requireOnePlayer(of: found.all, "held", in: store, \.playerID)
            if choice.operation.dryRun {
                return print("\(choice.count(found.all - found.released)) would be released; nothing was done")
            }
            let unreadable = try await UnreadableRelease(of: choice.filter, in: store)
            var progress = ProgressBar("releasing")
            let released = try await store.release(
                choice.filter, by: choice.operation.name, limit: choice.rows.limit
            ) { done in progress.show(min(done, found.all), of: found.all) }
            progress.end()
            let before = found.released > 0 ? ", \(found.released) were released before" : ""
            print("\(released) released\(before); a worker decides them within seconds")
            if let why = try await unreadable?.end() { throw CommandFailure(why, code: 1) }
        }
    }

    struct Reject: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "reject",
            abstract: "Rejects holds: a worker publishes receipt.rejected with refused_by_operator. You cannot undo it."
        )

        static let sessions = 4

        @OptionGroup var choice: WaitingChoice<Reason>
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = HoldAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try await choice.requireOnePlayer(of: found.all, "held", in: store, \.playerID)
            let count = choice.count(found.all)
            if choice.operation.dryRun { return print("\(count) would be rejected; nothing was done") }
            if choice.all { try choice.operation.confirm("reject \(count) held transactions") }
            var progress = ProgressBar("rejecting")
            let now = WallClock.now
            let refused = try await store.reject(
                choice.filter, by: choice.operation.name, at: now, limit: count
            ) { done in progress.show(min(done, count), of: count) }
            progress.end()
            print(refused)
            if refused.unreadable > 0 { throw ExitCode(1) }
        }
    }
}
