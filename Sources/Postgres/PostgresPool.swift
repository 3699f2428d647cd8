import Foundation

/// A number of sessions, each on a thread of its own, so that blocking in libpq never blocks Swift's own threads.
///
/// Sessions connect at first use and again after a failure. While the server cannot be reached, sessions try again at
/// growing intervals (0.1 s to 5 s). Between the tries every job that needs a new connection fails with `.connection`.
public final class PostgresPool: Sendable {
    /// The sessions, which end with the last pool that shares them.
    private final class Sessions: Sendable {
        let queue: JobQueue
        let stopping = Interrupt()

        init(count: Int) { queue = JobQueue(threads: count) }

        /// Ends the threads after the jobs that they run.
        deinit { queue.close {} }
    }

    private let sessions: Sessions
    private let vouch: PostgresSession.Vouch?

    /// Makes a pool, which connects at first use.
    /// - Parameters:
    ///   - size: the number of sessions, at least 1.
    ///   - tell: called on the session's thread with each session that gave no answer in time and was left behind.
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
            let thread = Thread {
                let session = PostgresSession(configuration: configuration, shared: shared)
                while let job = queue.next() {
                    session.beginJob()
                    job.run(session)
                    session.endJob()
                }
                session.drop()
                queue.threadEnded()
            }
            thread.name = "postgres-\(number)"
            thread.start()
        }
    }

    private init(_ sessions: Sessions, vouch: @escaping PostgresSession.Vouch) {
        self.sessions = sessions
        self.vouch = vouch
    }

    /// Returns a pool with the same sessions, whose jobs want `vouch` to approve of their connection.
    ///
    /// `vouch` is called on the session's thread, outside of a transaction, before a connection's first statement for
    /// such a job. An error that it throws fails the statement.
    public func vouched(by vouch: @escaping PostgresSession.Vouch) -> PostgresPool {
        PostgresPool(sessions, vouch: vouch)
    }

    /// Runs `body` on the next free session's thread, and throws its error. Cancelling the task does not stop `body`.
    /// The session's statement time-out does, and a deadline of our own if the server does not answer at all.
    ///
    /// A connection that ended while idle is replaced first. One that fails during `body` fails `body`, once: run it
    /// again if the error is retriable and doing so is safe.
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

    /// Fails work under way with `.connection` or `.commitOutcomeUnknown` at once, and all later work too. For the end
    /// of a program.
    public func interrupt() { sessions.stopping.set() }

    /// Waits for the jobs that run, fails those that wait, and ends connections and threads. May be called twice.
    public func close() async {
        await withCheckedContinuation { continuation in
            sessions.queue.close { continuation.resume() }
        }
    }
}
