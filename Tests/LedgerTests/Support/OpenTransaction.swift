import Foundation
import Ledger
import NamesAndTimes
import Postgres
import Synchronization

/// A session with an SQL transaction that stays open until the test ends it, like the SQL transaction of a backup.
final class OpenTransaction: Sendable {
    static let applicationName = "nightly-backup"

    private let pool: PostgresPool
    private let end = DispatchSemaphore(value: 0)
    private let holding = Mutex<Task<Void, any Error>?>(nil)

    /// Returns once `script` has run in the SQL transaction.
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
    /// Counts the locks for which sessions of this database wait.
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

    /// Returns the first line, and waits for it.
    func first() async -> String? {
        for await line in stream.stream { return line }
        return nil
    }
}

extension OutcomeRetention {
    /// Runs maintenance once by this machine's clock, even if another replica has just had the turn.
    static func look(in pool: PostgresPool, days: Int) async throws -> Report {
        try await OutcomeRetention(pool: pool, days: days, turnSeconds: 0).run(now: .current)
    }
}
