import NIOCore

/// Runs tasks on an event loop's thread: what lies between an answer and the next request waits behind no other task, and
/// wakes no other thread. For work of microseconds: everything else on the loop waits for it.
///
/// The loop must never end: a task whose job it does not run would wait for ever.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
