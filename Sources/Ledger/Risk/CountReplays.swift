import Fulfillment
import NamesAndTimes
import Postgres

/// Counts a batch's replays of other players' purchases in one statement. Without a replay there is no round trip.
enum CountReplays {
    private static let statement = LedgerSQL.statement(PackageResources.upsert_replays_sql)

    private struct Key: Hashable, Comparable {
        let player: PlayerID
        let bundleID: BundleID
        /// The UTC day of the decision, in days since 1970.
        let day: Int32

        static func < (left: Key, right: Key) -> Bool {
            if left.player != right.player { return left.player < right.player }
            if left.bundleID != right.bundleID { return left.bundleID < right.bundleID }
            return left.day < right.day
        }
    }

    /// Returns the players whose counts reach or pass `Replays.suspicious` in this batch. Must run before the outcomes
    /// are inserted, so that two batches never wait for each other: this statement locks its rows in sorted order, and
    /// the statement for outcomes waits for no lock.
    static func run(
        _ decisions: [PendingDecision], _ settlements: [Settlement], in session: PostgresSession
    ) throws -> [ReplayingPlayer] {
        var counts: [Key: (submissions: Int32, latest: Timestamp)] = [:]
        for (decision, settlement) in zip(decisions, settlements) where settlement.isReplay {
            let key = Key(
                player: decision.submission.playerID, bundleID: decision.submission.bundleID,
                day: decision.decidedAt.daysSinceEpoch)
            let known = counts[key]
            counts[key] = (
                (known?.submissions ?? 0) + 1, max(known?.latest ?? decision.decidedAt, decision.decidedAt)
            )
        }
        guard !counts.isEmpty else { return [] }
        let sorted = counts.sorted { $0.key < $1.key }
        let rows = try session.execute(
            statement,
            [
                .identifiers(sorted.lazy.map(\.key.player)), .identifiers(sorted.lazy.map(\.key.bundleID)),
                .dateArray(daysSinceUnixEpoch: sorted.map(\.key.day)), .int4Array(sorted.map(\.value.submissions)),
                .timestamps(sorted.map(\.value.latest)), .int8(Int64(Replays.suspicious)),
            ])
        let (players, bundles) = (try rows.column("player_id"), try rows.column("bundle_id"))
        let submissions = try rows.column("submissions")
        return (0..<rows.count).compactMap { row in
            guard let player = rows.text(row, players), let bundle = rows.text(row, bundles) else { return nil }
            return ReplayingPlayer(
                playerID: Identifier(player), bundleID: Identifier(bundle),
                submissions: rows.int8(row, submissions) ?? 0)
        }
    }
}

/// A player who has just sent enough of other players' purchases to be suspicious.
public struct ReplayingPlayer: Sendable, Equatable {
    public let playerID: PlayerID
    public let bundleID: BundleID
    /// The submissions within the counted days.
    public let submissions: Int64

    public init(playerID: PlayerID, bundleID: BundleID, submissions: Int64) {
        self.playerID = playerID
        self.bundleID = bundleID
        self.submissions = submissions
    }
}
