import Foundation

/// A fixed number of sessions, each on its own thread, so that libpq never blocks Swift's own threads.
///
/// A session connects at its first use, and again after a failure. While the server cannot be reached, the sessions try
/// again at growing intervals (0.1 s to 5 s). Until the next try, every job that needs a new connection fails with
/// `.connection`.
public final class PostgresPool: Sendable {
    /// The sessions, which end when no pool uses them any more.
    private final class Sessions: Sendable {
        let queue: JobQueue
        let threads = SessionThreads()
        let stopping = Interrupt()

        init(count: Int) { queue = JobQueue(threads: count) }

        /// Ends each thread after its present job.
        deinit { queue.close {} }
    }

    private let sessions: Sessions
    private let vouch: PostgresSession.Vouch?

    /// Creates a pool, which connects at its first use.
    /// - Parameters:
    ///   - size: the number of sessions, at least 1.
    ///   - tell: called with each session that did not answer in time and was left behind, on that session's thread.
    public init(
        configuration: PostgresConfiguration, size: Int, hung tell: @escaping @Sendable (HungSession) -> Void = { _ in }
    ) {
        precondition(size >= 1, "a pool of no sessions")
        sessions = Sessions(count: size)
        vouch = nil
        let queue = sessions.queue
        let shared = PostgresSession.Shared(
            gate: ConnectGate(), stopping: sessions.stopping, hung: HungSessions(tell: tell))
        for number in 1...size {
            let isStarted = sessions.threads.start(name: "postgres-\(number)") {
                let session = PostgresSession(configuration: configuration, shared: shared)
                while let job = queue.next() {
                    session.beginJob()
                    job.run(session)
                    session.endJob()
                }
                session.drop()
                queue.threadEnded()
            }
            if !isStarted { queue.threadEnded() }
        }
    }

    private init(_ sessions: Sessions, vouch: @escaping PostgresSession.Vouch) {
        self.sessions = sessions
        self.vouch = vouch
    }

    /// Returns a pool with the same sessions, which calls `vouch` to approve of a connection's database.
    ///
    /// The session's thread calls `vouch` outside a transaction, before the connection's first statement for a job of
    /// the returned pool. If `vouch` throws, the statement fails with that error.
    public func vouched(by vouch: @escaping PostgresSession.Vouch) -> PostgresPool {
        PostgresPool(sessions, vouch: vouch)
    }

    /// Runs `body` on the thread of the next free session, and throws its error. Cancelling the task does not stop
    /// `body`. The session's statement time-out stops `body`. If the server does not answer, this process's own
    /// deadline stops it.
    ///
    /// If the connection ended while idle, the session first opens a new connection. If the connection fails during
    /// `body`, `body` fails. Run `body` again if the error is retriable and a second run is safe.
    public func run<R: Sendable>(_ body: @escaping @Sendable (PostgresSession) throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            sessions.queue.add(
                JobQueue.Job(
                    run: { [vouch] session in
                        session.vouch = vouch
                        defer { session.vouch = nil }
                        continuation.resume(with: Result { try body(session) })
                    },
                    fail: { continuation.resume(throwing: $0) }))
        }
    }

    /// Ends present and later work at once, with `.connection` or `.commitOutcomeUnknown`. Call it at the end of a
    /// program.
    public func interrupt() { sessions.stopping.set() }

    /// Waits for running jobs, fails waiting jobs, and ends the connections and threads. May be called twice.
    ///
    /// Call it before the process exits (see `SessionThreads`).
    public func close() async {
        await withCheckedContinuation { continuation in
            sessions.queue.close { [threads = sessions.threads] in
                // The last session's thread calls this closure, and a thread cannot wait for itself.
                DispatchQueue.global().async {
                    threads.join()
                    continuation.resume()
                }
            }
        }
    }
}
