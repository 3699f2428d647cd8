import Fulfillment
import Postgres

/// Many submissions that go to wait, in one statement; and those that may not.
enum InsertParked {
    /// Seconds between two tries of a player's submissions that found no place in memory.
    static let shareSpacing = 0.25

    private static let statement = LedgerSQL.statement(PackageResources.insert_parked_sql)

    /// Rows of one player with proofs that are not proven, however many of them wait with the same proof.
    static let rowsOfPlayer = 100
    /// A player's further rows are spread by how many there are, up to so many.
    static let countedRows = 200

    /// Inserts them with the purchases that their players wait for.
    /// - Parameter room: bytes that may still be parked of what is not proven.
    static func run(
        _ rows: [ParkingSubmission], room: Int64, with undelivered: UndeliveredRows, in session: PostgresSession
    ) throws -> Durable<Set<NameBasedUUID>> {
        if undelivered.isEmpty { return try run(rows, room: room, in: session) }
        return try session.transaction { session in
            // The order is a batch's, which deletes parked rows at its end.
            try undelivered.write(in: session)
            return try run(rows, room: room, in: session)
        }
    }

    /// The rows that are not parked, since too much that is not proven waits, of their players or in all.
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
