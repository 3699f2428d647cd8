import NIOCore

/// Runs tasks on an event loop's thread: what lies between a response and the next request waits behind no other task, and
/// wakes no other thread. For work of microseconds: everything else on the loop waits for it.
///
/// Work that a job makes ready goes right after it and before the jobs that were there: a response is followed by the
/// request that takes its place at the server, and not by the reading of all the other responses that came with it.
///
/// The loop must never end: a task whose job it does not run would wait for ever.
///
/// `@unchecked Sendable`: what changes is read and written only on the loop's thread.
public final class LoopExecutor: TaskExecutor, @unchecked Sendable {
    /// Jobs that follow one of which the loop knows, before all else has its turn.
    private static let maximumFollowing = 8

    private let loop: any EventLoop
    /// Made ready on the loop outside of jobs: they all go with one turn of the loop.
    private var ready: [UnownedJob] = []
    /// Made ready by the job that runs.
    private var following: [UnownedJob] = []
    private var isRunning = false

    public init(_ loop: any EventLoop) {
        self.loop = loop
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard loop.inEventLoop else { return loop.execute { self.run(job) } }
        if isRunning { return following.append(job) }
        if ready.isEmpty { loop.execute { self.runReady() } }
        ready.append(job)
    }

    private func runReady() {
        let jobs = ready
        ready.removeAll(keepingCapacity: true)
        for job in jobs { run(job) }
    }

    private func run(_ job: UnownedJob) {
        isRunning = true
        job.runSynchronously(on: asUnownedTaskExecutor())
        var index = 0
        while index < following.count, index < Self.maximumFollowing {
            following[index].runSynchronously(on: asUnownedTaskExecutor())
            index += 1
        }
        isRunning = false
        for job in following[index...] { loop.execute { self.run(job) } }
        following.removeAll(keepingCapacity: true)
    }
}
