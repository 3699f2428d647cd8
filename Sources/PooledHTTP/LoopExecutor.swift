import NIOCore

/// Runs tasks on an event loop's thread. The work between a response and the next request then waits behind no other
/// task, and wakes no other thread. Each job must take microseconds, because everything else on the loop waits for it.
///
/// A job that a running job makes ready runs right after it, before the jobs that were waiting. So the thread sends the
/// request that follows a response before it reads the other responses that came at the same time.
///
/// The loop must never end, because a task whose job does not run would wait for ever.
///
/// `@unchecked Sendable`: variables are read and written only on the loop's thread.
public final class LoopExecutor: TaskExecutor, @unchecked Sendable {
    /// The most jobs that run right after the job that made them ready. The loop does its other work before the rest.
    private static let maximumFollowing = 8

    private let loop: any EventLoop
    /// The jobs that were made ready on the loop, but by no running job. One turn of the loop runs them all.
    private var ready: [UnownedJob] = []
    /// The jobs that the running job made ready.
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
