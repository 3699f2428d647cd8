import EmbeddedPostgres
import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("Offset checkpoints in PostgreSQL")
struct CheckpointTests {
    private static func checkpoints(_ pool: PostgresPool, group: String = "receiptd") -> PostgresCheckpoints {
        PostgresCheckpoints(pool: pool, group: group)
    }

    private static func row(_ offset: Int64, writer: Int64 = 7, version: Int64 = 1) -> OffsetCheckpoint {
        OffsetCheckpoint(nextOffset: offset, writer: writer, version: version)
    }

    @Test("a new partition has no offset checkpoint; to replace a checkpoint, a writer has to state the stored one")
    func compareAndSet() async throws {
        let checkpoints = Self.checkpoints(try await LedgerDatabase().pool)
        let before = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(before.checkpoints.isEmpty)
        let first =
            [
                0: CheckpointWrite(expected: nil, new: Self.row(5)),
                1: CheckpointWrite(expected: nil, new: Self.row(70)),
            ] as [Int32: CheckpointWrite]
        #expect(try await checkpoints.write(first, topic: Sample.topic, in: before.history).refused.isEmpty)
        let second =
            [
                0: CheckpointWrite(expected: Self.row(4), new: Self.row(9, version: 2)),
                1: CheckpointWrite(expected: Self.row(70), new: Self.row(8, version: 2)),
                2: CheckpointWrite(expected: Self.row(3), new: Self.row(4, version: 2)),
            ] as [Int32: CheckpointWrite]
        let result = try await checkpoints.write(second, topic: Sample.topic, in: nil)
        #expect(result == CheckpointResult(history: before.history, refused: [0: Self.row(5), 2: nil]))
        let again = try await checkpoints.write(first, topic: "another", in: nil)
        #expect(again.refused.isEmpty)
        let after = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(after.checkpoints == [0: Self.row(5), 1: Self.row(8, version: 2)])
        #expect(after.departures == [0: 0, 1: 0])
    }

    @Test("if eight writers create a checkpoint concurrently, one succeeds; a writer that expects a row creates none")
    func race() async throws {
        let database = try await LedgerDatabase()
        for expected in [nil, Self.row(1, writer: 1)] as [OffsetCheckpoint?] {
            let results = try await withThrowingTaskGroup(of: (Int64, CheckpointResult).self) { group in
                for writer in Int64(1)...8 {
                    let new = Self.row(writer, writer: writer, version: (expected?.version ?? 0) + 1)
                    group.addTask {
                        let checkpoints = Self.checkpoints(database.pool)
                        let write = CheckpointWrite(expected: expected, new: new)
                        return (writer, try await checkpoints.write([0: write], topic: "\(expected == nil)", in: nil))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            if expected == nil {
                let winners = results.filter { $0.1.refused.isEmpty }
                #expect(winners.count == 1)
                let winner = try #require(winners.first?.0)
                #expect(results.count { $0.1.refused == [0: Self.row(winner, writer: winner)] } == 7)
            } else {
                // The expected row does not exist, so no writer makes a row.
                #expect(results.allSatisfy { $0.1.refused == [0: nil] })
            }
        }
    }

    @Test("consumer groups in one database do not see each other's checkpoints or counts of departed owners")
    func groups() async throws {
        let database = try await LedgerDatabase()
        let (one, other) = (Self.checkpoints(database.pool), Self.checkpoints(database.pool, group: "other"))
        let write = CheckpointWrite(expected: nil, new: Self.row(5))
        #expect(try await one.write([0: write], topic: Sample.topic, in: nil).refused.isEmpty)
        #expect(try await other.read(topic: Sample.topic, partitions: [0]).checkpoints.isEmpty)
        #expect(try await other.countDepartures([0], topic: Sample.topic).isEmpty)
        #expect(try await other.write([0: write], topic: Sample.topic, in: nil).refused.isEmpty)
        #expect(try await one.countDepartures([0], topic: Sample.topic) == [0: 1])
        #expect(try await other.read(topic: Sample.topic, partitions: [0]).departures == [0: 0])
    }

    @Test("a consumer group without checkpoints starts with the offsets and departed owners of schema version 3")
    func adopted() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            "INSERT INTO durable_offsets (topic, partition, next_offset, departures) VALUES ('\(Sample.topic)', 1, 40, 3)"
        )
        let checkpoints = Self.checkpoints(database.pool)
        let read = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1])
        let row = try #require(read.checkpoints[1])
        #expect(row.nextOffset == 40 && read.checkpoints.count == 1 && read.departures == [1: 3])
        let write = CheckpointWrite(expected: row, new: Self.row(50, version: row.version + 1))
        #expect(try await checkpoints.write([1: write], topic: Sample.topic, in: read.history).refused.isEmpty)
        #expect(try await checkpoints.read(topic: Sample.topic, partitions: [0, 1]).checkpoints[1]?.nextOffset == 50)
    }

    @Test("PostgreSQL counts a partition's owners that gave it up alive; later checkpoint writes keep the count")
    func departures() async throws {
        let checkpoints = Self.checkpoints(try await LedgerDatabase().pool)
        let writes =
            [
                0: CheckpointWrite(expected: nil, new: Self.row(5)),
                1: CheckpointWrite(expected: nil, new: Self.row(8)),
            ] as [Int32: CheckpointWrite]
        _ = try await checkpoints.write(writes, topic: Sample.topic, in: nil)
        #expect(try await checkpoints.countDepartures([1, 0, 2], topic: Sample.topic) == [0: 1, 1: 1])
        #expect(try await checkpoints.countDepartures([1], topic: Sample.topic) == [1: 2])
        #expect(try await checkpoints.countDepartures([1], topic: "another").isEmpty)
        let write = CheckpointWrite(expected: Self.row(8), new: Self.row(9, version: 2))
        #expect(try await checkpoints.write([1: write], topic: Sample.topic, in: nil).refused.isEmpty)
        #expect(try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2]).departures == [0: 1, 1: 2])
    }

    @Test(
        "if decisions are in one database, a second database refuses a checkpoint for them, because its history differs"
    )
    func otherDatabase() async throws {
        let here = try await Self.checkpoints(try await LedgerDatabase().pool).read(
            topic: Sample.topic, partitions: [0])
        let there = Self.checkpoints(try await LedgerDatabase().pool)
        let write = CheckpointWrite(expected: nil, new: Self.row(7))
        let result = try await there.write([0: write], topic: Sample.topic, in: here.history)
        #expect(result.history != here.history)
        #expect(try await there.read(topic: Sample.topic, partitions: [0]).checkpoints.isEmpty)
    }

    @Test("a restarted PostgreSQL has a new history, and refuses a checkpoint for decisions from before the restart")
    func restart() async throws {
        let server = try EmbeddedPostgres.start(durable: true)
        let pool = LedgerDatabase.pool(server.uri)
        try await pool.run { try Schema.migrate($0) }
        let checkpoints = Self.checkpoints(pool)
        let before = try await checkpoints.read(topic: Sample.topic, partitions: [])
        server.stopServer()
        try server.startServer()
        let write = CheckpointWrite(expected: nil, new: Self.row(1))
        var result: CheckpointResult?
        while result == nil {
            result = try? await checkpoints.write([0: write], topic: Sample.topic, in: before.history)
        }
        #expect(result?.history != before.history)
        #expect(try await checkpoints.read(topic: Sample.topic, partitions: [0]).checkpoints.isEmpty)
        await pool.close()
        server.stop()
    }

    @Test(
        "if PostgreSQL hides the WAL position, a checkpoint write is refused unless it names the same database history")
    func hiddenLog() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            CREATE SCHEMA hidden;
            CREATE FUNCTION hidden.pg_walfile_name(pg_lsn) RETURNS text LANGUAGE plpgsql
                AS $$ BEGIN RAISE insufficient_privilege; END $$
            """)
        let separator = database.uri.contains("?") ? "&" : "?"
        let uri = database.uri + separator + "options=-csearch_path%3Dhidden,pg_catalog,public"
        let checkpoints = Self.checkpoints(LedgerDatabase.pool(uri))
        let read = try await checkpoints.read(topic: Sample.topic, partitions: [0])
        let write = CheckpointWrite(expected: nil, new: Self.row(3))
        let other = DatabaseHistory(read.history.text + "x")
        #expect(try await checkpoints.write([0: write], topic: Sample.topic, in: other).history == read.history)
        #expect(try await checkpoints.read(topic: Sample.topic, partitions: [0]).checkpoints.isEmpty)
        #expect(try await checkpoints.write([0: write], topic: Sample.topic, in: read.history).refused.isEmpty)
    }
}
