import Fulfillment
import Ledger
import Postgres

/// The dead letters that operators have published again on their topic.
public struct RedrivenStore: Sendable {
    /// The identity of a dead letter: its first position in Kafka, and a digest of its content.
    public struct Place: Hashable, Sendable {
        public let topic: String
        public let partition: Int32
        public let offset: Int64
        let content: [UInt8]

        public init(topic: String, partition: Int32, offset: Int64, value: [UInt8]?) {
            self.topic = topic
            self.partition = partition
            self.offset = offset
            content = Array(Digest256(hashing: value ?? []).bytes.prefix(16))
        }
    }

    private static let finding = LedgerSQL.statement(PackageResources.find_redriven_dead_letters_sql)
    private static let inserting = LedgerSQL.statement(PackageResources.insert_redriven_dead_letters_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns those of `places` that were published again before. Throws a `PostgresError`.
    public func redriven(of places: [Place]) async throws -> Set<Place> {
        try await pool.run { session in
            let rows = try session.execute(Self.finding, Self.columns(places))
            let number = try rows.column("number")
            return Set((0..<rows.count).compactMap { rows.int8($0, number) }.map { places[Int($0) - 1] })
        }
    }

    /// Stores that records were published again. Must be called after Kafka has acknowledged the records. Throws a
    /// `PostgresError`.
    public func note(_ places: [Place]) async throws {
        try await pool.run { session in
            _ = try session.execute(Self.inserting, Self.columns(places))
        }
    }

    private static func columns(_ places: [Place]) -> [PostgresParameter] {
        [
            .textArray(places.map(\.topic)), .int4Array(places.map(\.partition)), .int8Array(places.map(\.offset)),
            .byteaArray(places.map(\.content)),
        ]
    }
}
