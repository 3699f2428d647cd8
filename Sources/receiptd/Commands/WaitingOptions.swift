import Administration
import ArgumentParser
import BackOffice
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// The options that select held, parked or unclaimed rows.
struct WaitingOptions<Reason: WaitingReason & ExpressibleByArgument>: ParsableArguments {
    @Option(help: "Only rows of this app.") var bundle: String?
    @Option(help: "Only rows with this reason.") var reason: Reason?
    @Option(help: ArgumentHelp("Only rows of this player.", visibility: Reason.hasPlayers ? .default : .private))
    var player: String?
    @Option(help: ArgumentHelp("Only rows of this product.", visibility: Reason.hasProducts ? .default : .private))
    var product: String?
    @Option(
        help: ArgumentHelp(
            "Only rows that have waited since before this time (RFC 3339), such as 2026-11-21T03:00:00Z.",
            valueName: "time"))
    var before: Timestamp?
    @Option(help: "At most this many rows, oldest first.") var limit: Int?

    func validate() throws {
        try RowLimit.validate(limit)
        guard Reason.hasPlayers || player == nil else { throw ValidationError("Unclaimed purchases have no player.") }
        guard Reason.hasProducts || product == nil else { throw ValidationError("Parked submissions name no product.") }
    }

    /// Returns the filter of the options.
    /// - Parameter id: the id of one row; nil for all rows that the options select.
    func filter(id: String? = nil) -> WaitingFilter<Reason> {
        WaitingFilter(
            id: id, bundleID: bundle, reason: reason, playerID: player, productID: product, until: before)
    }
}

/// The options of a command that lists rows.
struct WaitingListOptions<Reason: WaitingReason & ExpressibleByArgument>: ParsableArguments {
    @Flag(help: "Print one JSON document on standard output.") var json = false
    @Flag(help: "Show all rows, not only the oldest \(RowLimit.page).") var all = false
    @OptionGroup var rows: WaitingOptions<Reason>

    func show<Waiting: WaitingTable, Table: RowTable>(_ waiting: Waiting, as table: Table.Type) async throws
    where Waiting.Reason == Reason, Waiting.Row == Table.Row {
        let filter = rows.filter()
        let total = try await waiting.count(filter).all
        let shown = try await waiting.list(filter, limit: RowLimit.rows(rows.limit, all: all))
        table.print(shown, total: total, asJSON: json)
    }
}

/// The options of a command that changes one row by its id, or all rows that the options select.
struct WaitingChoice<Reason: WaitingReason & ExpressibleByArgument>: ParsableArguments {
    @Argument(help: "An id from the list. Submissions of several players may share one id.")
    var id: String?
    @Flag(help: "Change every row that the options choose.") var all = false
    @OptionGroup var rows: WaitingOptions<Reason>
    @OptionGroup var operation: OperatorOptions

    func validate() throws {
        guard (id != nil) != all else { throw ValidationError("Give an id or --all.") }
        // `--player` may stand beside an id, because rows of several players may have the same id.
        guard all || (rows.filter() == WaitingFilter(playerID: rows.player) && rows.limit == nil) else {
            throw ValidationError("Options that choose rows, and --limit, need --all.")
        }
        if let id, Reason.hasProducts, !TransactionIDText.isSound(id) {
            throw ValidationError("\(ShownText.quoted(id)) is not \(TransactionIDText.requirement).")
        }
    }

    /// Returns the number of rows that the command changes: all that it found, or `--limit` if that number is lower.
    func count(_ found: Int) -> Int { min(found, rows.limit ?? found) }

    var filter: WaitingFilter<Reason> { rows.filter(id: id) }

    /// Throws a `CommandFailure` with exit code 1 if the command found no row with the given id.
    /// - Parameter what: the state of the rows, such as "held".
    func requireAny(_ found: Int, _ what: String) throws {
        guard found == 0, let id else { return }
        throw CommandFailure("\(ShownText.quoted(id)) is not \(what)", code: 1)
    }

    /// Throws as `requireAny` does. Throws a failure with exit code 64 if rows of several players have the id.
    func requireOnePlayer<Table: WaitingTable>(
        of found: Int, _ what: String, in table: Table, _ player: (Table.Row) -> String
    ) async throws where Table.Reason == Reason {
        try requireAny(found, what)
        guard let id, found > 1 else { return }
        let players = Set(try await table.list(filter, limit: 100).map(player)).sorted()
        guard players.count > 1 else { return }
        let shown = players.prefix(5).map(ShownText.quoted).joined(separator: ", ")
        throw CommandFailure(
            "\(ShownText.quoted(id)) is \(what) for \(players.count) players: name one with --player, \(shown)",
            code: Confirmation.usage)
    }
}

extension Reason: ExpressibleByArgument {}
extension ParkingReason: ExpressibleByArgument {}
extension UnclaimedReason: ExpressibleByArgument {}
extension DeadLetter.Reason: ExpressibleByArgument {}

extension Timestamp: ExpressibleByArgument {
    public init?(argument: String) { self.init(rfc3339: argument) }
}
