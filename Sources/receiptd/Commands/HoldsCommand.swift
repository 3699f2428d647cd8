import Administration
import ArgumentParser
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

/// The commands about transactions that wait for a person.
struct HoldsCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "holds", abstract: "Paid transactions that wait for a person.",
        subcommands: [List.self, Release.self, Reject.self])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists holds, oldest first.")
        /// Rows without `--all`.
        static let page = 100

        @Flag(help: "One JSON document on standard output.") var json = false
        @Flag(help: "All of them, not only the oldest \(Self.page).") var all = false
        @Option(help: "The most rows to show, oldest first.") var limit: Int?
        @Option(help: "Only this app's.") var bundle: String?
        @Option(help: "Only transactions held for this reason.") var reason: Reason?
        @OptionGroup var options: SettingsOptions

        func validate() throws { try RowLimit.validate(limit) }

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let filter = HoldFilter(bundleID: bundle, reason: reason)
            let store = HoldAdministration(pool: pool)
            let total = try await store.count(filter).all
            let shown = try await store.list(filter, limit: RowLimit.rows(limit, all: all, page: Self.page))
            let width = Terminal.outputWidth
            print(json ? HoldsTable.json(shown, total: total) : HoldsTable.text(shown, total: total, width: width))
        }
    }

    struct Release: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "release",
            abstract: "Releases holds: a worker waives the reason, asks Apple again, and judges the rest anew.")

        @OptionGroup var choice: HoldChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = HoldAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try await choice.requireOne(found, in: store)
            if choice.operation.dryRun {
                return print("\(choice.count(found.all - found.released)) would be released; nothing was done")
            }
            let unreadable = try await UnreadableRelease(of: choice.filter, in: store)
            var progress = ProgressBar("releasing")
            let released = try await store.release(
                choice.filter, by: choice.operation.name, limit: choice.limit
            ) { done in progress.show(min(done, found.all), of: found.all) }
            progress.end()
            let before = found.released > 0 ? ", \(found.released) were before" : ""
            print("\(released) released\(before); a worker decides them within seconds")
            if let why = try await unreadable?.end() { throw CommandFailure(why, code: 1) }
        }
    }

    struct Reject: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "reject",
            abstract: "Rejects holds for good: receipt.rejected with refused_by_operator. This cannot be undone.")

        static let sessions = 4

        @OptionGroup var choice: HoldChoice
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            let store = HoldAdministration(pool: pool)
            let found = try await store.count(choice.filter)
            try await choice.requireOne(found, in: store)
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

/// One transaction by its id, or all of an app, of a reason, or of both; and who decides.
struct HoldChoice: ParsableArguments {
    @Argument(help: "A transaction id, as `holds list` shows it.") var transactionID: String?
    @Flag(help: "All holds that match --bundle and --reason.") var all = false
    @Option(help: "Only this player's: two may wait for one transaction.") var player: String?
    @Option(help: "With --all: only this app's.") var bundle: String?
    @Option(help: "With --all: only transactions held for this reason.") var reason: Reason?
    @Option(help: "With --all: change at most this many.") var limit: Int?
    @OptionGroup var operation: OperatorOptions

    func validate() throws {
        guard (transactionID != nil) != all else { throw ValidationError("Name a transaction id, or say --all.") }
        guard all || (bundle == nil && reason == nil && limit == nil) else {
            throw ValidationError("--bundle, --reason and --limit go with --all.")
        }
        try RowLimit.validate(limit)
        if let transactionID, !TransactionIDText.isSound(transactionID) {
            throw ValidationError("\(ShownText.quoted(transactionID)) is not \(TransactionIDText.requirement).")
        }
    }

    /// Returns how many of so many found ones are meant.
    func count(_ found: Int) -> Int { min(found, limit ?? found) }

    var filter: HoldFilter {
        HoldFilter(
            transactionID: transactionID.map { StoreTransactionID($0) }, of: player, bundleID: bundle, reason: reason)
    }

    /// Exit 1 where a transaction is named that is not held, and 64 where it is held for several players and none is named.
    func requireOne(_ found: HoldAdministration.Count, in store: HoldAdministration) async throws {
        guard let transactionID, found.all != 1 else { return }
        guard found.all > 0 else { throw CommandFailure("\(ShownText.quoted(transactionID)) is not held", code: 1) }
        let players = try await store.list(filter, limit: 5).map { ShownText.quoted($0.playerID) }
        throw CommandFailure(
            "\(ShownText.quoted(transactionID)) is held for \(found.all) players: name one by --player, of "
                + players.joined(separator: ", "), code: Confirmation.usage)
    }
}

extension Reason: ExpressibleByArgument {}
