import NIOCore

/// Runs tasks on an event loop's thread. So the work between a response and the next request waits for no other task,
/// and wakes no other thread. Each job must take only microseconds, because everything else on the loop waits for it.
///
/// If a running job makes a second job ready, the second job runs right after the first, before the waiting jobs. So
/// the thread reads a response and sends the next request, before it reads other responses that came at the same time.
///
/// The loop must never end. Otherwise a task whose job does not run would wait for ever.
///
/// `@unchecked Sendable`: only the loop's thread reads and writes the variables.
public final class LoopExecutor: TaskExecutor, @unchecked Sendable {
    /// The most jobs that run right after the job that made them ready. The loop does its other work before it runs the
    /// rest.
    private static let maximumFollowing = 8

    private let loop: any EventLoop
    /// The jobs that other work on the loop made ready. One turn of the loop runs them all.
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
