import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Replaces a player by a pseudonym in every table, page by page, while workers run. After an interruption a second run
/// continues with the first run's pseudonym. Every function throws a `PostgresError`.
public struct PlayerErasure: Sendable {
    /// The numbers of the player's rows that still wait.
    public struct Waiting: Sendable, Equatable {
        public let held: Int
        public let parked: Int
        /// The announced purchases that workers may still deliver to the player. The command refuses to erase while
        /// there are any. With `--force` the erasure ends them.
        public var announced = 0
        /// The events that Kafka has not acknowledged.
        public let unpublished: Int

        /// True if the player has no held, parked or unpublished rows. The erasure cannot end such rows.
        public var isNothing: Bool { held == 0 && parked == 0 && unpublished == 0 }
    }

    private static let grantsAtATime: Int64 = 500
    /// The number of blocks that one statement reads if the table has no index by player: 32 MiB.
    private static let blocksAtATime: Int64 = 4_096
    /// The most rounds at the end, each of which erases rows that were added meanwhile. If rows are left after the last
    /// round, the erasure is incomplete.
    private static let rounds = 3

    private static let counting = LedgerSQL.statement(PackageResources.count_player_waiting_sql)
    private static let beginning = LedgerSQL.statement(PackageResources.insert_erasure_sql)
    private static let ending = LedgerSQL.statement(PackageResources.end_erasure_sql)
    private static let erasingClaims = LedgerSQL.statement(PackageResources.erase_claims_sql)
    private static let deletingSightings = LedgerSQL.statement(PackageResources.delete_player_sightings_sql)
    private static let listingGrants = LedgerSQL.statement(PackageResources.list_player_grants_sql)
    private static let erasingRows = LedgerSQL.statement(PackageResources.erase_player_rows_sql)
    private static let looking = LedgerSQL.statement(PackageResources.find_player_rows_sql)

    let pool: PostgresPool
    let player: PlayerID
    private let grantsAtATime: Int64

    /// - Parameter grantsAtATime: the most grants in one SQL transaction; nil for the default. Tests set it.
    public init(of player: PlayerID, in pool: PostgresPool, grantsAtATime: Int64? = nil) {
        self.player = player
        self.pool = pool
        self.grantsAtATime = grantsAtATime ?? Self.grantsAtATime
    }

    public func waiting() async throws -> Waiting {
        try await pool.run { [player] session in
            let rows = try session.execute(Self.counting, [.text(player.text)])
            let (held, parked) = (try rows.column("held"), try rows.column("parked"))
            let (announced, unpublished) = (try rows.column("announced"), try rows.column("unpublished"))
            return Waiting(
                held: Int(rows.int8(0, held) ?? 0), parked: Int(rows.int8(0, parked) ?? 0),
                announced: Int(rows.int8(0, announced) ?? 0), unpublished: Int(rows.int8(0, unpublished) ?? 0))
        }
    }

    public struct Erased: Sendable, Equatable {
        public let pseudonym: PlayerID
        /// False if new rows of the player appeared in every round, because a game server still submits for the player.
        public let isComplete: Bool
    }

    /// Erases the player.
    /// - Parameters:
    ///   - pseudonym: the new pseudonym. An erasure that was begun before keeps its earlier pseudonym.
    ///   - progress: called with the name of each table.
    public func run(
        pseudonym: PlayerID, by operatorName: String, progress: (String) -> Void = { _ in }
    ) async throws -> Erased {
        let pseudonym = try await begin(pseudonym, operatorName)
        progress("grants")
        try await erasePages(pseudonym)
        for (table, day) in try await outcomeTables() {
            progress(table)
            try await walk(table) { range, session in
                try OutcomeErasure(player: player, pseudonym: pseudonym, day: day).run(range, in: session)
            }
        }
        progress("device_sightings")
        try await walk("device_sightings") { range, session in
            try session.execute(
                Self.deletingSightings, [.text(player.text), range.first, range.end])
        }
        progress("claims")
        try await walk("claims") { range, session in
            try session.execute(
                Self.erasingClaims, [.text(player.text), .text(pseudonym.text), range.first, range.end])
        }
        for _ in 0..<Self.rounds {
            guard try await isAnythingLeft() else {
                try await pool.run { _ = try $0.execute(Self.ending, [.text(pseudonym.text)]) }
                return Erased(pseudonym: pseudonym, isComplete: true)
            }
            try await erasePages(pseudonym)
        }
        return Erased(pseudonym: pseudonym, isComplete: false)
    }

    private func begin(_ pseudonym: PlayerID, _ operatorName: String) async throws -> PlayerID {
        try await pool.run { [player] session in
            let rows = try session.execute(
                Self.beginning, [.text(pseudonym.text), .text(player.text), .text(operatorName)])
            let known = try rows.column("pseudonym")
            return rows.text(0, known).map { Identifier($0) } ?? pseudonym
        }
    }

    /// Erases the rows that have an index by player, page by page.
    private func erasePages(_ pseudonym: PlayerID) async throws {
        while true {
            let page = try await pool.run { [player, grantsAtATime] session in
                let rows = try session.execute(Self.listingGrants, [.text(player.text), .int8(grantsAtATime)])
                let (transaction, original) = (
                    try rows.column("transaction_id"), try rows.column("original_transaction_id")
                )
                let period = try rows.column("period_id")
                return GrantErasure(
                    player: player, pseudonym: pseudonym,
                    transactions: (0..<rows.count).compactMap { rows.text($0, transaction).map { Identifier($0) } },
                    originals: Set(
                        (0..<rows.count).flatMap { [rows.text($0, original), rows.text($0, period)] }
                            .compactMap { $0.map { Identifier($0) } }))
            }
            if page.transactions.isEmpty { break }
            try await pool.run { try page.run(in: $0) }
        }
        try await pool.run { [player] session in
            try session.transaction { session in
                try AnnouncedErasure(player: player, pseudonym: pseudonym).run(in: session)
                try session.execute(Self.erasingRows, [.text(player.text), .text(pseudonym.text)])
            }
        }
    }

    private func isAnythingLeft() async throws -> Bool {
        try await pool.run { [player] session in
            let rows = try session.execute(Self.looking, [.text(player.text)])
            return rows.bool(0, try rows.column("any_left")) ?? true
        }
    }

    private func outcomeTables() async throws -> [(table: String, day: OutcomeDay?)] {
        let days = try await pool.run { try OutcomePartitions.list(in: $0).days }
        // Maintenance may meanwhile move rows from `outcomes_default` to `outcomes_apart`, so `outcomes_apart` comes
        // last.
        return days.sorted().map { ($0.table, $0) } + [("outcomes_default", nil), (OutcomeDay.apart.table, .apart)]
    }

    /// Runs `body` on the blocks that the table has at the start. `walk` does not read blocks that are added later.
    private func walk(
        _ table: String, _ body: @escaping @Sendable (BlockRange, PostgresSession) throws -> Void
    ) async throws {
        let blocks = try await pool.run { try BlockRange.count(of: table, in: $0) }
        for range in BlockRange.each(of: 0..<blocks, Self.blocksAtATime) {
            try await pool.run { try body(range, $0) }
        }
    }
}
