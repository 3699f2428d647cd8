import Encodings
import Fulfillment
import Ledger
import Postgres

/// PostgreSQL's rows about a submission, a transaction or a player, for people. No row contains a receipt.
public struct Inspection: Sendable {
    /// The rows of one kind, as JSON objects. All rows of a section have the same members in the same order.
    public struct Section: Sendable {
        public let name: String
        public let rows: [JSONValue]
    }

    private static let firstDay = LedgerSQL.statement(PackageResources.find_first_day_sql)
    private static let outcomes = LedgerSQL.statement(PackageResources.inspect_outcomes_sql)
    private static let grants = LedgerSQL.statement(PackageResources.inspect_grants_sql)
    private static let claims = LedgerSQL.statement(PackageResources.inspect_claims_sql)
    private static let holds = LedgerSQL.statement(PackageResources.inspect_holds_sql)
    private static let refusals = LedgerSQL.statement(PackageResources.inspect_refusals_sql)
    private static let refunds = LedgerSQL.statement(PackageResources.inspect_refunds_sql)
    private static let refundNotices = LedgerSQL.statement(PackageResources.inspect_refund_notices_sql)
    private static let refundRequests = LedgerSQL.statement(PackageResources.inspect_refund_requests_sql)
    private static let consumptionReports = LedgerSQL.statement(PackageResources.inspect_consumption_reports_sql)
    private static let undelivered = LedgerSQL.statement(PackageResources.inspect_undelivered_sql)
    private static let finishes = LedgerSQL.statement(PackageResources.inspect_finishes_sql)
    private static let announced = LedgerSQL.statement(PackageResources.inspect_announced_sql)
    private static let decisions = LedgerSQL.statement(PackageResources.inspect_decisions_sql)
    private static let grantDecisions = LedgerSQL.statement(PackageResources.inspect_grant_decisions_sql)
    private static let replays = LedgerSQL.statement(PackageResources.inspect_replays_sql)
    private static let subscriptions = LedgerSQL.statement(PackageResources.inspect_subscriptions_sql)
    private static let transfers = LedgerSQL.statement(PackageResources.inspect_subscription_transfers_sql)
    private static let parked = LedgerSQL.statement(PackageResources.inspect_parked_sql)
    private static let outbox = LedgerSQL.statement(PackageResources.inspect_outbox_sql)
    private static let events = LedgerSQL.statement(PackageResources.inspect_events_sql)
    private static let localRefusals = LedgerSQL.statement(PackageResources.inspect_local_refusals_sql)
    private static let proofs = LedgerSQL.statement(PackageResources.inspect_proofs_sql)

    private static let counts = LedgerSQL.statement(PackageResources.inspect_counts_sql)
    /// The kinds of rows that are read page by page, and whose total is counted.
    private static let counted: [StaticString] = ["grants", "holds", "parked", "subscriptions"]
    private static let eventNames = LedgerSQL.statement(PackageResources.find_event_names_sql)
    private static let parkedOrders = LedgerSQL.statement(PackageResources.find_parked_orders_sql)
    /// The most submissions and transactions of one order that are read. Also the most players in `players`.
    private static let maximumNames = 10

    public let sections: [Section]
    /// If the searched id is an order's or an event's, the submissions and transactions that it belongs to. The rows
    /// are about these submissions and transactions. Otherwise empty.
    public let names: [String]

    /// The number of all rows by kind. Empty if this page is the first and holds all rows.
    private let totals: [String: Int]
    /// True if there may be more decided submissions than the page has.
    private let hasMoreOutcomes: Bool

    init(
        sections: [Section], names: [String] = [], totals: [String: Int] = [:], hasMoreOutcomes: Bool = false
    ) {
        (self.sections, self.names) = (sections, names)
        (self.totals, self.hasMoreOutcomes) = (totals, hasMoreOutcomes)
    }

    /// The players whom the rows name, each once; at most `maximumNames`.
    public var players: [String] {
        let named = sections.flatMap(\.rows).compactMap { $0["player_id"]?.string }
        return Array(Set(named).sorted().prefix(Self.maximumNames))
    }

    /// Returns the number of rows of a kind on all pages together.
    public func total(_ name: String) -> Int {
        let shown = sections.first { $0.name == name }?.rows.count ?? 0
        return max(totals[name] ?? 0, shown)
    }

    /// Returns true if a further page has rows.
    /// - Parameter shown: the number of rows of one kind up to the end of this page.
    public func hasMore(after shown: Int) -> Bool {
        hasMoreOutcomes || totals.values.contains { $0 > shown }
    }

    /// The search took longer than its time limit.
    public struct TooLong: Error {}

    /// The longest time limit of a search, in seconds.
    public static let longestSeconds = 600.0

    /// The most days to search back. No row is older, and an earlier date could be outside of PostgreSQL's range.
    private static let maximumDays = 100_000

    /// Reads the rows from one snapshot of the database. Throws a `PostgresError`, and `TooLong` after `seconds`.
    /// - Parameters:
    ///   - days: the number of past days whose decided submissions are searched. These rows have no index by name.
    ///   - limit: the most rows of a section.
    ///   - skipping: the number of newer rows that are left out of each kind that is read page by page.
    ///   - seconds: the time limit of the whole search.
    public static func of(
        _ id: String, days: Int, limit: Int, skipping: Int = 0, within seconds: Double = longestSeconds,
        in pool: PostgresPool
    ) async throws -> Inspection {
        // PostgreSQL's text cannot contain NUL, so no row has the id.
        guard !id.utf8.contains(0) else { return Inspection(sections: []) }
        return try await pool.run { session in
            try session.transaction { session in
                // In UTC, PostgreSQL writes times as RFC 3339. `jit` is off because each statement runs once, so
                // compiling it takes longer than it saves.
                try session.run(
                    script: """
                        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL TIME ZONE 'UTC'; SET LOCAL jit = off
                        """)
                let reader = InspectionReader(session: session, seconds: seconds)
                let days = Int32(clamping: min(days, maximumDays))
                let page = Page(
                    limit: Int64(limit), skipping: Int64(skipping), firstDay: try firstDay(days, in: reader))
                let decided = try outcomes(of: [id], havingIn: id, page, in: reader)
                let found = try read(id, decided.filter { $0[isNamed] == .bool(true) }, page, in: reader)
                guard found.sections.allSatisfy(\.rows.isEmpty) else { return found }
                // The search for an order or an event has only one page.
                let first = Page(limit: page.limit, skipping: 0, firstDay: page.firstDay)
                let answers = page.skipping == 0 ? decided : try outcomes(of: [id], havingIn: id, first, in: reader)
                let answered = answers.filter { $0[isNamed] != .bool(true) }.compactMap { $0["submission_id"]?.string }
                let names = try names(of: id, answered: answered, days: days, in: reader)
                guard !names.isEmpty else { return found }
                // One query reads the days for all names.
                let all = try outcomes(of: names, first, in: reader)
                return Inspection(merging: try names.map { try read($0, all, first, in: reader) }, names: names)
            }
        }
    }

    private struct Page {
        let limit: Int64
        let skipping: Int64
        /// The first day whose decided submissions are searched, in days since 1970-01-01.
        let firstDay: Int32?
    }

    private static func firstDay(_ days: Int32, in session: InspectionReader) throws -> Int32? {
        let found = try session.execute(firstDay, [.int4(days)])
        return found.dateDays(0, try found.column("first_day"))
    }

    private static let isNamed = "is_named"

    /// Returns rows of `inspect_outcomes.sql`.
    /// - Parameter id: the id of an order or an event that stored answers may contain; nil to search only by name.
    private static func outcomes(
        of names: [String], havingIn id: String? = nil, _ page: Page, in session: InspectionReader
    ) throws -> [JSONValue] {
        try rows(
            outcomes,
            [
                .textArray(names), .date(daysSinceUnixEpoch: page.firstDay), .int8(page.limit), .int8(page.skipping),
                .bytea(id.map { Array($0.utf8) }),
            ], in: session)
    }

    /// Returns the rows of a statement whose only value is a JSON array.
    private static func rows(
        _ statement: PostgresStatement, _ parameters: [PostgresParameter], in session: InspectionReader
    ) throws -> [JSONValue] {
        let found = try session.execute(statement, parameters)
        let text = found.bytes(0, try found.column("rows")) ?? []
        return (try? JSONParser.parse(text).value.array) ?? []
    }

    /// Returns the submissions and transactions to which an order or an event belongs.
    /// - Parameter answered: the submissions whose answer contains the id.
    private static func names(
        of id: String, answered: [String], days: Int32, in session: InspectionReader
    ) throws -> [String] {
        var found = Set(answered.prefix(maximumNames))
        func add(_ rows: PostgresRows) throws {
            let name = try rows.column("name")
            found.formUnion((0..<rows.count).compactMap { rows.text($0, name) })
        }
        let limit = PostgresParameter.int8(Int64(maximumNames))
        try add(session.execute(eventNames, [.text(id), .int4(days), limit]))
        try add(session.execute(parkedOrders, [.text(id), limit]))
        if found.isEmpty, let subject = try ToldEvents.subject(of: id, in: session.session) { found.insert(subject) }
        return found.sorted()
    }

    /// Merges inspections. A row that several of them found is kept once.
    private init(merging inspections: [Inspection], names: [String]) {
        let sections = (inspections.first?.sections ?? []).enumerated().map { index, section in
            var rows: [JSONValue] = []
            for row in inspections.flatMap({ $0.sections[index].rows }) where !rows.contains(row) { rows.append(row) }
            return Section(name: section.name, rows: rows)
        }
        self.init(sections: sections, names: names)
    }

    /// Reads the rows of one id.
    /// - Parameter outcomes: rows of `inspect_outcomes.sql`, newest first.
    private static func read(
        _ id: String, _ outcomes: [JSONValue], _ page: Page, in session: InspectionReader
    ) throws -> Inspection {
        func rows(_ statement: PostgresStatement, _ parameters: [PostgresParameter]) throws -> [JSONValue] {
            try self.rows(statement, parameters, in: session)
        }
        let (limit, skipped) = (page.limit, PostgresParameter.int8(page.skipping))
        let name = PostgresParameter.text(id)
        let granted = outcomes.flatMap { $0["granted_transaction_ids"]?.array ?? [] }.compactMap(\.string)
        let grants = try rows(grants, [name, .int8(limit), .textArray(granted), skipped])
        let holds = try rows(holds, [name, .int8(limit), skipped])
        let originals = (grants + holds).compactMap { $0["original_transaction_id"]?.string }
        let transactions = PostgresParameter.textArray((grants + holds).compactMap { $0["transaction_id"]?.string })
        let digests = outcomes.compactMap { $0["proof_sha256"]?.string }
        let parked = try rows(parked, [name, .int8(limit), skipped])
        let listed = outcomes.flatMap { $0["transactions"]?.array ?? [] }.compactMap { $0["transaction_id"]?.string }
        var trace = TraceSteps(events: try rows(events, [.textArray(granted + listed)]))
        for outcome in outcomes.reversed() { trace.add(outcome: outcome) }
        for waiting in parked.reversed() { trace.add(parked: waiting) }
        let subscriptions = try rows(subscriptions, [name, .textArray(originals), .int8(limit), skipped])
        let isFull = [grants, holds, parked, subscriptions].contains { $0.count >= limit }
        let totals = try isFull || page.skipping > 0 ? totals(of: name, in: session) : [:]
        let sections = [
            Section(name: "story", rows: trace.rows),
            Section(name: "grants", rows: grants), Section(name: "holds", rows: holds),
            Section(name: "refunds", rows: try rows(refunds, [name, transactions, .int8(limit)])),
            Section(name: "refund_notices", rows: try rows(refundNotices, [name, transactions, .int8(limit)])),
            Section(name: "refund_requests", rows: try rows(refundRequests, [name, transactions, .int8(limit)])),
            Section(
                name: "consumption_reports", rows: try rows(consumptionReports, [name, transactions, .int8(limit)])),
            Section(name: "undelivered", rows: try rows(undelivered, [name, transactions, .int8(limit)])),
            Section(name: "finishes", rows: try rows(finishes, [name, transactions, .int8(limit)])),
            Section(name: "announced", rows: try rows(announced, [name, .int8(limit)])),
            Section(name: "replays_of_others_purchases", rows: try rows(replays, [name, .int8(limit)])),
            Section(name: "refusals", rows: try rows(refusals, [name, .int8(limit)])),
            Section(name: "local_refusals", rows: try rows(localRefusals, [name, .int8(limit)])),
            Section(name: "hold_decisions", rows: try rows(decisions, [name, .int8(limit)])),
            Section(name: "grant_decisions", rows: try rows(grantDecisions, [name, .int8(limit)])),
            Section(name: "subscriptions", rows: subscriptions),
            Section(
                name: "subscription_transfers",
                rows: try rows(transfers, [name, .textArray(originals), .int8(limit)])),
            Section(name: "parked", rows: parked.map { $0.without("tries") }),
            Section(name: "outcomes", rows: outcomes.map { $0.without("story", "occurred_at", "is_pending", isNamed) }),
            Section(name: "outbox", rows: try rows(outbox, [name, .int8(limit)])),
            Section(name: "claims", rows: try rows(claims, [name, .textArray(originals)])),
            Section(name: "proofs", rows: try rows(proofs, [.textArray(digests)])),
        ]
        return Inspection(sections: sections, totals: totals, hasMoreOutcomes: outcomes.count >= limit)
    }

    private static func totals(of name: PostgresParameter, in session: InspectionReader) throws -> [String: Int] {
        let found = try session.execute(counts, [name])
        var totals: [String: Int] = [:]
        for kind in counted { totals["\(kind)"] = Int(clamping: found.int8(0, try found.column(kind)) ?? 0) }
        return totals
    }
}

extension JSONValue {
    /// Returns the object without these members, which the trace already describes.
    fileprivate func without(_ names: String...) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.name) })
    }
}
