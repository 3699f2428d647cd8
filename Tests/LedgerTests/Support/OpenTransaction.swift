import Foundation
import Ledger
import NamesAndTimes
import Postgres
import Synchronization

/// A session in a transaction that stays open, as a backup's does, until it is ended.
final class OpenTransaction: Sendable {
    static let applicationName = "nightly-backup"

    private let pool: PostgresPool
    private let end = DispatchSemaphore(value: 0)
    private let holding = Mutex<Task<Void, any Error>?>(nil)

    /// Returns once `script` has run in it.
    init(_ database: LedgerDatabase, _ script: String) async throws {
        let pool = PostgresPool(
            configuration: PostgresConfiguration(
                uri: database.uri, applicationName: Self.applicationName, connectTimeoutSeconds: 60), size: 1)
        self.pool = pool
        let (started, starting) = AsyncStream<Void>.makeStream()
        let end = end
        let task = Task {
            defer { starting.finish() }
            try await pool.run { session in
                try session.transaction { session in
                    try session.run(script: script)
                    starting.yield()
                    end.wait()
                }
            }
        }
        holding.withLock { $0 = task }
        var first = started.makeAsyncIterator()
        if await first.next() == nil { try await task.value }
    }

    func finish() async throws {
        end.signal()
        try await holding.withLock { $0 }?.value
        await pool.close()
    }
}

extension LedgerDatabase {
    /// Sessions that wait for a lock in this database.
    static let queued = """
        SELECT count(*) FROM pg_locks
        WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
}

/// Collects a program's output, line by line.
final class ToldLines: Sendable {
    private let state = Mutex<[String]>([])
    private let stream = AsyncStream<String>.makeStream()

    var all: [String] { state.withLock { $0 } }

    func add(_ line: String) {
        state.withLock { $0.append(line) }
        stream.continuation.yield(line)
    }

    /// Waits for the first.
    func first() async -> String? {
        for await line in stream.stream { return line }
        return nil
    }
}

extension OutcomeRetention {
    /// One look, by this machine's clock, whoever took the last turn.
    static func look(in pool: PostgresPool, days: Int) async throws -> Report {
        try await OutcomeRetention(pool: pool, days: days, turnSeconds: 0).run(now: .current)
    }
}
