import Foundation

/// The queue of jobs for a pool's threads, first in, first out. It has no limit: its callers limit their jobs.
///
/// `@unchecked Sendable` is sound: every stored property is read and written with `condition` locked.
final class JobQueue: @unchecked Sendable {
    struct Job: Sendable {
        let run: @Sendable (PostgresSession) -> Void
        /// Called instead of `run` if the pool closes before a thread takes the job.
        let fail: @Sendable (PostgresError) -> Void
    }

    private let condition = NSCondition()
    private var waiting: [Job] = []
    private var isClosed = false
    private var threads: Int
    private var whenEnded: [@Sendable () -> Void] = []

    init(threads: Int) { self.threads = threads }

    func add(_ job: Job) {
        let isClosed = condition.withLock {
            if !self.isClosed {
                waiting.append(job)
                condition.signal()
            }
            return self.isClosed
        }
        if isClosed { job.fail(Self.closed) }
    }

    /// Blocks a pool's thread until there is a job. Returns nil once the queue is closed.
    func next() -> Job? {
        condition.withLock {
            while waiting.isEmpty && !isClosed { condition.wait() }
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
    }

    /// Fails the waiting jobs, and calls `ended` when every thread has ended.
    func close(ended: @escaping @Sendable () -> Void) {
        let (unstarted, areEnded) = condition.withLock {
            isClosed = true
            condition.broadcast()
            let unstarted = waiting
            waiting = []
            if threads > 0 { whenEnded.append(ended) }
            return (unstarted, threads == 0)
        }
        for job in unstarted { job.fail(Self.closed) }
        if areEnded { ended() }
    }

    /// Counts a thread that has ended, or that the system could not start. Without threads the queue is closed.
    func threadEnded() {
        let (toTell, unstarted) = condition.withLock {
            threads -= 1
            guard threads == 0 else { return ([@Sendable () -> Void](), [Job]()) }
            isClosed = true
            defer { waiting = [] }
            return (whenEnded, waiting)
        }
        for job in unstarted { job.fail(Self.closed) }
        for ended in toTell { ended() }
    }

    private static let closed = PostgresError(sqlState: nil, message: "the pool is closed", kind: .connection)
}
