import Foundation
import Postgres
import Synchronization
import Testing

@Suite("The pool of PostgreSQL sessions", .timeLimit(.minutes(1)))
struct PoolTests {
    private final class Ended: Sendable {
        let isSet = Atomic(false)
    }

    /// The jobs block until the test has seen all of them start. The test runs on Swift's threads, of which most
    /// machines have fewer than five. If the jobs blocked these threads, the test could never release the jobs.
    @Test("a pool runs jobs on four PostgreSQL sessions in parallel, and blocks none of Swift's threads")
    func parallel() async throws {
        let database = try TestDatabase(size: 4)
        let (started, starts) = AsyncStream.makeStream(of: Int64.self)
        let gate = DispatchSemaphore(value: 0)
        let pool = database.pool
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    try await pool.run { session in
                        starts.yield(try session.ownProcessID())
                        gate.wait()
                    }
                }
            }
            var sessions: Set<Int64> = []
            for await session in started {
                sessions.insert(session)
                if sessions.count == 4 { break }
            }
            for _ in 0..<4 { gate.signal() }
            try await group.waitForAll()
        }
    }

    /// A library may register a destructor for each thread's values. Kerberos's destructor aborts a process that exits
    /// while the destructor runs.
    @Test("a PostgreSQL pool is closed only after each session's thread has run its thread-local destructors")
    func threadsEnd() async throws {
        let database = try TestDatabase()
        let ended = Ended()
        try await database.pool.run { _ in
            var key = pthread_key_t()
            let code = pthread_key_create(&key) { value in
                guard let value else { return }
                // A pool that does not wait for the destructor would be closed before these 0.3 s are over.
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.3)
                Unmanaged<Ended>.fromOpaque(value).takeRetainedValue().isSet.store(true, ordering: .relaxed)
            }
            #expect(code == 0)
            pthread_setspecific(key, Unmanaged.passRetained(ended).toOpaque())
        }
        await database.pool.close()
        let isEnded = ended.isSet.load(ordering: .relaxed)
        #expect(isEnded)
    }

    @Test("if its session is busy, a PostgreSQL pool runs the waiting jobs in the order of the calls")
    func order() async throws {
        let database = try TestDatabase()
        let (order, ran) = AsyncStream.makeStream(of: Int.self)
        let (queued, added) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let pool = database.pool
        async let first: Void = pool.run { _ in
            added.yield()
            gate.wait()
        }
        for await _ in queued { break }
        // Each job is in the queue before the test creates the next task.
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<3 {
            tasks.append(Task.immediate { try await pool.run { _ in _ = ran.yield(number) } })
        }
        gate.signal()
        try await first
        for task in tasks { try await task.value }
        ran.finish()
        #expect(await order.reduce(into: []) { $0.append($1) } == [0, 1, 2])
    }

    @Test("a closing PostgreSQL pool finishes the running job, and fails waiting and later jobs")
    func close() async throws {
        let database = try TestDatabase()
        let (started, starts) = AsyncStream.makeStream(of: Int64.self)
        let gate = DispatchSemaphore(value: 0)
        let pool = database.pool
        async let running = pool.run { session in
            starts.yield(try session.ownProcessID())
            gate.wait()
            return 7
        }
        var first = started.makeAsyncIterator()
        let session = try #require(await first.next())
        let waiting = Task.immediate { try await pool.run { _ in 8 } }
        let closing = Task.immediate { await pool.close() }
        let failed = await #expect(throws: PostgresError.self) { try await waiting.value }
        #expect(failed?.kind == .connection)
        gate.signal()
        #expect(try await running == 7)
        await closing.value
        await pool.close()
        #expect(try await database.failure { _ in }.kind == .connection)

        // `pg_terminate_backend` returns false for a session that has already ended, hence `OR true`.
        let gone = try await TestDatabase.pool(database.uri).run { other in
            try other.execute(
                PostgresStatement("SELECT pg_terminate_backend($1, 10000) OR true"), [.int4(Int32(session))])
            return try other.execute(
                PostgresStatement("SELECT count(*) FROM pg_stat_activity WHERE pid = $1"), [.int4(Int32(session))]
            ).int8(0, 0)
        }
        #expect(gone == 0)
    }

    @Test("if a job throws an error, the PostgreSQL pool's `run` throws the same error")
    func throwing() async throws {
        struct Stop: Error {}
        let database = try TestDatabase()
        await #expect(throws: Stop.self) { try await database.pool.run { _ in throw Stop() } }
    }
}
