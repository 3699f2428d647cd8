import EmbeddedPostgres
import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("Durable offsets")
struct DurableOffsetsTests {
    @Test("a partition that was never noted has none, and a note stands whatever was there before")
    func notes() async throws {
        let offsets = PostgresOffsets(pool: try await LedgerDatabase().pool)
        let first = try await offsets.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(first.offsets.isEmpty)
        #expect(try await offsets.note([1: 70, 0: 5], topic: Sample.topic, in: first.history))
        #expect(try await offsets.note([1: 8], topic: Sample.topic, in: first.history))
        #expect(try await offsets.note([1: 9], topic: "another", in: first.history))
        let later = try await offsets.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(
            later == DurableProgress(history: first.history, offsets: [0: 5, 1: 8], departures: [0: 0, 1: 0]))
    }

    @Test("departures are counted by partition, and outlive notes")
    func departures() async throws {
        let offsets = PostgresOffsets(pool: try await LedgerDatabase().pool)
        let history = try await offsets.read(topic: Sample.topic, partitions: []).history
        #expect(try await offsets.note([0: 5, 1: 8], topic: Sample.topic, in: history))
        #expect(try await offsets.noteDepartures([1, 0, 2], topic: Sample.topic) == [0: 1, 1: 1])
        #expect(try await offsets.noteDepartures([1], topic: Sample.topic) == [1: 2])
        #expect(try await offsets.noteDepartures([1], topic: "another").isEmpty)
        #expect(try await offsets.note([1: 9], topic: Sample.topic, in: history))
        let later = try await offsets.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(later.offsets == [0: 5, 1: 9] && later.departures == [0: 1, 1: 2])
    }

    @Test("another database has another history, and takes no note of this one's")
    func otherDatabase() async throws {
        let database = try await LedgerDatabase()
        let offsets = PostgresOffsets(pool: database.pool)
        let here = try await offsets.read(topic: Sample.topic, partitions: [0])
        let there = PostgresOffsets(pool: try await LedgerDatabase().pool)
        #expect(try await there.note([0: 7], topic: Sample.topic, in: here.history) == false)
        let elsewhere = try await there.read(topic: Sample.topic, partitions: [0])
        #expect(elsewhere.history != here.history)
        #expect(elsewhere.offsets.isEmpty)
    }

    @Test("a restart is another history only of a server that may forget commits", arguments: [true, false])
    func restart(durable: Bool) async throws {
        let server = try EmbeddedPostgres.start(durable: durable)
        let pool = LedgerDatabase.pool(server.uri)
        try await pool.run { try Schema.migrate($0) }
        let offsets = PostgresOffsets(pool: pool)
        let before = try await offsets.read(topic: Sample.topic, partitions: [])
        server.stopServer()
        try server.startServer()
        var noted: Bool?
        while noted == nil { noted = try? await offsets.note([0: 1], topic: Sample.topic, in: before.history) }
        #expect(noted == durable)
        await pool.close()
        server.stop()
    }

    @Test("where the role may not look at the log, the server's start tells one history from another")
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
        let offsets = PostgresOffsets(pool: LedgerDatabase.pool(uri))
        let read = try await offsets.read(topic: Sample.topic, partitions: [0])
        #expect(try await offsets.note([0: 3], topic: Sample.topic, in: read.history))
        let other = DatabaseHistory(read.history.text + "x")
        #expect(try await offsets.note([0: 4], topic: Sample.topic, in: other) == false)
        #expect(try await offsets.read(topic: Sample.topic, partitions: [0]).offsets == [0: 3])
    }
}
