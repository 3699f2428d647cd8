import Fulfillment
import Postgres

/// Which held transactions an operator means. Nil means any.
public struct HoldFilter: Sendable, Equatable {
    public var transactionID: StoreTransactionID?
    public var bundleID: String?
    public var reason: Reason?

    public init(transactionID: StoreTransactionID? = nil, bundleID: String? = nil, reason: Reason? = nil) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.reason = reason
    }

    var parameters: [PostgresParameter] {
        [.text(transactionID?.text), .text(bundleID), .text(reason?.rawValue)]
    }
}

/// The held transactions, for an operator. Every function throws a `PostgresError`.
public struct HoldAdministration: Sendable {
    public struct Count: Sendable, Equatable {
        public let all: Int
        /// Released, and on the way through a worker.
        public let released: Int
    }

    /// What became of those that were to be refused.
    public struct Refused: Sendable, Equatable {
        public var rejected = 0
        /// Ended by somebody else meanwhile.
        public var gone = 0
        /// Their submission cannot be read, so that nobody could be told.
        public var unreadable = 0
    }

    /// Refused between two looks at the list.
    private static let batch = 200
    /// Looked at by one statement, a transaction each: half a million fit into none's time.
    private static let releasedAtATime: Int64 = 1_000

    private static let counting = LedgerSQL.statement(PackageResources.count_holds_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_holds_sql)
    private static let releasing = LedgerSQL.statement(PackageResources.release_holds_sql)
    private static let releasingOne = LedgerSQL.statement(PackageResources.release_hold_sql)
    private static let choosing = LedgerSQL.statement(PackageResources.choose_holds_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    public func count(_ filter: HoldFilter) async throws -> Count {
        try await pool.run { session in
            let rows = try session.execute(Self.counting, filter.parameters)
            return Count(all: Int(rows.int8(0, 0) ?? 0), released: Int(rows.int8(0, 1) ?? 0))
        }
    }

    /// Oldest first. The filter's `transactionID` is not looked at.
    public func list(_ filter: HoldFilter, limit: Int) async throws -> [HoldSummary] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing, [.int8(Int64(limit)), .text(filter.bundleID), .text(filter.reason?.rawValue)])
            return (0..<rows.count).compactMap { HoldSummary(rows, $0) }
        }
    }

    /// Lets their reasons pass and leaves the rest to the workers. Returns how many; those released before do not count.
    /// Where it fails on the way, those before stay released, and the same again does the rest.
    /// - Parameters:
    ///   - limit: of how many; nil: of all.
    ///   - progress: told now and then how many are released so far.
    public func release(
        _ filter: HoldFilter, by operatorName: String, limit: Int? = nil, progress: (Int) -> Void = { _ in }
    ) async throws -> Int {
        let who = PostgresParameter.text(operatorName)
        if let transaction = filter.transactionID {
            return try await pool.run {
                try $0.execute(Self.releasingOne, [who, .text(transaction.text)]).affectedRows
            }
        }
        let chosen = [PostgresParameter.text(filter.bundleID), .text(filter.reason?.rawValue)]
        var last = ""
        var released = 0
        while true {
            let behind = last
            let left = PostgresParameter.int8(limit.map { Int64($0 - released) })
            let (newest, count) = try await pool.run { session in
                let rows = try session.execute(
                    Self.releasing, [who, .text(behind), .int8(Self.releasedAtATime)] + chosen + [left])
                return (rows.text(0, 0), Int(rows.int8(0, 1) ?? 0))
            }
            released += count
            progress(released)
            guard let newest, released < limit ?? .max else { return released }
            last = newest
        }
    }

    /// Rejects them, one SQL transaction each; a worker publishes the events from the outbox.
    /// - Parameters:
    ///   - limit: of how many; nil: of all.
    ///   - progress: told of each that is done.
    public func reject(
        _ filter: HoldFilter, by operatorName: String, at now: Timestamp, limit: Int? = nil,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Refused {
        var refused = Refused()
        var last = ""
        while true {
            let behind = last
            let left = (limit ?? .max) - refused.rejected - refused.gone - refused.unreadable
            if left <= 0 { return refused }
            let (taken, newest) = try await pool.run { session in
                let rows = try session.execute(
                    Self.choosing, [.text(behind), .int8(Int64(min(left, Self.batch)))] + filter.parameters)
                return (LeasedHolds(rows), rows.count == 0 ? nil : rows.text(rows.count - 1, 0))
            }
            guard let newest else { return refused }
            last = newest
            refused.unreadable += taken.unreadable.count
            for hold in taken.leased {
                let transaction = HoldWrite(
                    decision: HoldDecision(refusing: hold, decidedAt: now), operatorName: operatorName)
                switch try await pool.run({ try transaction.run(in: $0) }) {
                case .published: refused.rejected += 1
                case .held, .gone: refused.gone += 1
                }
                progress(refused.rejected + refused.gone)
            }
        }
    }
}

/// A held transaction as an operator sees it.
public struct HoldSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let playerID: String
    public let bundleID: String
    public let productID: String
    public let quantity: Int
    public let environment: String
    public let reason: String
    /// Reasons that operators have let pass.
    public let waived: [String]
    public let submissionID: String
    public let purchasedAt: Timestamp
    public let heldAt: Timestamp
    /// Released, and not decided again yet.
    public let releasedAt: Timestamp?
    public let note: String?
    public let catalogVersion: Int64
    /// Without a verdict, since the last decision.
    public let tries: Int
}

extension HoldSummary {
    fileprivate init?(_ rows: PostgresRows, _ row: Int) {
        guard let transaction = rows.text(row, 0), let original = rows.text(row, 1), let player = rows.text(row, 2),
            let bundle = rows.text(row, 3), let product = rows.text(row, 4), let environment = rows.text(row, 6),
            let reason = rows.text(row, 7), let submission = rows.text(row, 9),
            let purchasedAt = rows.timestamp(row, 10), let heldAt = rows.timestamp(row, 11)
        else { return nil }
        self.init(
            transactionID: transaction, originalTransactionID: original, playerID: player, bundleID: bundle,
            productID: product, quantity: Int(rows.int4(row, 5) ?? 1), environment: environment, reason: reason,
            waived: (rows.textArray(row, 8) ?? []).compactMap(\.self), submissionID: submission,
            purchasedAt: purchasedAt, heldAt: heldAt, releasedAt: rows.timestamp(row, 12), note: rows.text(row, 13),
            catalogVersion: rows.int8(row, 14) ?? 0, tries: Int(rows.int4(row, 15) ?? 0))
    }
}
