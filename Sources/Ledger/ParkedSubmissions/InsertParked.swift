import Fulfillment
import Postgres

/// Parks many submissions in one statement. Submissions beyond the limits for unproven proofs are not parked.
enum InsertParked {
    /// The seconds between the due times of a player's submissions that found no place in memory.
    static let shareSpacing = 0.25

    private static let statement = LedgerSQL.statement(PackageResources.insert_parked_sql)

    /// The most rows with unproven proofs that one player may have, even if some of these rows share a proof.
    static let rowsOfPlayer = 100
    /// The most rows beyond the player's share that are counted. The more there are, the later the player's next rows
    /// become due.
    static let countedRows = 200

    /// Parks rows, and inserts the purchases for which their players wait.
    /// - Parameter room: how many more bytes of submissions with unproven proofs may be parked.
    static func run(
        _ rows: [ParkingSubmission], room: Int64, with undelivered: UndeliveredRows, in session: PostgresSession
    ) throws -> Durable<Set<NameBasedUUID>> {
        if undelivered.isEmpty { return try run(rows, room: room, in: session) }
        return try session.transaction { session in
            // The tables are written in the same order as in a batch, which deletes parked rows last.
            try undelivered.write(in: session)
            return try run(rows, room: room, in: session)
        }
    }

    /// Parks rows. Returns the ids of rows that were not parked, because their player or the fleet already has too many
    /// unproven proofs parked.
    static func run(
        _ rows: [ParkingSubmission], room: Int64, in session: PostgresSession
    ) throws -> Durable<Set<NameBasedUUID>> {
        let found = try session.execute(
            statement,
            [
                .uuids(rows.lazy.map(\.position.parkedID)),
                .textArray(rows.map(\.position.topic)),
                .int4Array(rows.map(\.position.partition)),
                .int8Array(rows.map(\.position.offset)),
                .timestamps(rows.map(\.position.timestamp)),
                .uuids(rows.lazy.map { $0.submission.identity(proof: $0.proof) }),
                .identifiers(rows.lazy.map(\.submission.submissionID)),
                .identifiers(rows.lazy.map(\.submission.playerID)),
                .identifiers(rows.lazy.map(\.submission.bundleID)),
                .byteaArray(rows.map(\.proof.bytes)),
                .textArray(rows.map(\.reason.rawValue)),
                .textArray(rows.map(\.detail)),
                .int4Array(rows.map { Int32(clamping: $0.history.failures) }),
                .jsonbArray(rows.map(\.history.storedDoubts)),
                .timestamps(rows.map(\.history.firstFailureAt)),
                .int4Array(rows.map { Int32(clamping: $0.history.parkings) }),
                .float8Array(rows.map(\.dueAfterSeconds)),
                .byteaArray(rows.map(\.position.content.bytes)),
                .textArray(rows.map(\.traceparent)),
                .byteaArray(rows.map(\.submission.storedBytes)),
                .int8(Int64(ParkingPolicy.parkedOfPlayer)), .int8(Int64(countedRows)),
                .float8(shareSpacing),
                .textArray(rows.map(\.history.tries.storedText)),
                .boolArray(rows.map(\.isProven)), .int8(Int64(rowsOfPlayer)), .int8(room),
                .textArray(rows.map(\.submission.orderID)),
            ])
        let (id, history) = (try found.column("refused_id"), try found.column("history"))
        let refused = Set((0..<found.count).compactMap { found.uuid($0, id)?.nameBased })
        return Durable(refused, in: found.history(0, history))
    }
}
