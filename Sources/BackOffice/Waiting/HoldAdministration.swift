import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Counts, lists, releases and rejects holds for an operator. Every function throws a `PostgresError`.
public struct HoldAdministration: WaitingTable {
    package typealias Reason = Fulfillment.Reason
    package typealias Row = HoldSummary

    /// The result of rejecting holds.
    public struct Refused: Sendable, Equatable, CustomStringConvertible {
        public var rejected = 0
        /// The holds that ended before this rejection reached them.
        public var gone = 0
        /// The holds whose submission cannot be read. They stay, because no event could name the player.
        public var unreadable = 0

        public init() {}

        public var description: String {
            var parts = ["\(rejected) rejected"]
            if gone > 0 { parts.append("\(gone) had ended meanwhile") }
            if unreadable > 0 { parts.append("\(unreadable) stay held: receiptd cannot read their submission") }
            return parts.joined(separator: "; ")
        }
    }

    /// The most holds that are rejected before the list is read again.
    private static let batch = 200
    /// The most rows that one statement reads to release holds. Half a million rows would exceed the statement's time
    /// limit.
    private static let releasedAtATime: Int64 = 1_000

    package static let counting = LedgerSQL.statement(PackageResources.count_holds_sql)
    package static let listing = LedgerSQL.statement(PackageResources.list_holds_sql)
    private static let releasing = LedgerSQL.statement(PackageResources.release_holds_page_sql)
    private static let releasingOne = LedgerSQL.statement(PackageResources.release_hold_sql)
    private static let listingPage = LedgerSQL.statement(PackageResources.list_holds_page_sql)

    package let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Releases holds: waives their reasons, so that workers decide the purchases. Returns the number of new releases.
    /// After a failure, the holds released so far stay released, and a second call releases the rest.
    /// - Parameters:
    ///   - limit: the most holds to release; nil for all.
    ///   - progress: called after each statement with the number released so far.
    public func release(
        _ filter: HoldFilter, by operatorName: String, limit: Int? = nil, progress: (Int) -> Void = { _ in }
    ) async throws -> Int {
        let who = PostgresParameter.text(operatorName)
        if let transaction = filter.id {
            return try await pool.run {
                try $0.execute(Self.releasingOne, [who, .text(transaction), .text(filter.playerID)]).affectedRows
            }
        }
        var last = ""
        var released = 0
        while true {
            let behind = last
            let left = PostgresParameter.int8(limit.map { Int64($0 - released) })
            let (newest, count) = try await pool.run { session in
                let rows = try session.execute(
                    Self.releasing, [who, .text(behind), .int8(Self.releasedAtATime)] + filter.ofMany + [left])
                let (last, released) = (try rows.column("last_transaction_id"), try rows.column("released"))
                return (rows.text(0, last), Int(rows.int8(0, released) ?? 0))
            }
            released += count
            progress(released)
            guard let newest, released < limit ?? .max else { return released }
            last = newest
        }
    }

    /// The position of a hold in the list, which is sorted by these members.
    private struct Place {
        var heldAt = Int64.min
        var transaction = ""
        var player = ""

        var parameters: [PostgresParameter] {
            [.timestamptz(unixMicroseconds: heldAt), .text(transaction), .text(player)]
        }
    }

    private static func last(of rows: PostgresRows) throws(PostgresError) -> Place? {
        let (heldAt, row) = (try rows.column("held_at"), rows.count - 1)
        let (transaction, player) = (try rows.column("transaction_id"), try rows.column("player_id"))
        guard let time = rows.timestampMicroseconds(row, heldAt), let id = rows.text(row, transaction),
            let holder = rows.text(row, player)
        else { return nil }
        return Place(heldAt: time, transaction: id, player: holder)
    }

    /// Rejects holds, the oldest first, each in one SQL transaction. A worker publishes the events from the outbox.
    /// - Parameters:
    ///   - limit: the most holds to reject; nil for all.
    ///   - progress: called after each hold.
    public func reject(
        _ filter: HoldFilter, by operatorName: String, at now: Timestamp, limit: Int? = nil,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Refused {
        var refused = Refused()
        var last = Place()
        while true {
            let behind = last
            let left = (limit ?? .max) - refused.rejected - refused.gone - refused.unreadable
            if left <= 0 { return refused }
            let (taken, newest) = try await pool.run { session in
                let rows = try session.execute(
                    Self.listingPage,
                    behind.parameters + [.int8(Int64(min(left, Self.batch)))] + filter.parameters)
                return (try LeasedHolds(rows), try Self.last(of: rows))
            }
            guard let newest else { return refused }
            last = newest
            refused.unreadable += taken.unreadable.count
            // The sessions of the pool work at the same time, because each of them waits for the disk.
            try await withThrowingTaskGroup(of: HoldWrite.Ending.self) { group in
                for hold in taken.leased {
                    let write = HoldWrite(
                        decision: HoldDecision(refusing: hold, decidedAt: now), operatorName: operatorName)
                    group.addTask { [pool] in try await pool.run { try write.run(in: $0) } }
                }
                for try await ending in group {
                    switch ending {
                    case .published: refused.rejected += 1
                    case .held, .gone: refused.gone += 1
                    }
                    progress(refused.rejected + refused.gone)
                }
            }
        }
    }
}
