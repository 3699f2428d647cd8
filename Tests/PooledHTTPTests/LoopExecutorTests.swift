import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import PooledHTTP

@Suite("The loop executor's tasks on the event loop")
struct LoopExecutorTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// A task's wait on the executor. The test ends the wait.
    private final class Sleeper: Sendable {
        private let continuation = Mutex<CheckedContinuation<Void, Never>?>(nil)

        /// - Parameter isAsleep: called on the executor as soon as the test can wake the task.
        func sleep(isAsleep: @escaping @Sendable () -> Void) async {
            await withCheckedContinuation { continuation in
                self.continuation.withLock { $0 = continuation }
                isAsleep()
            }
        }

        func wake() { continuation.withLock { $0.take() }?.resume() }
    }

    /// Starts tasks that sleep on `executor` until the test wakes them, and then run `body`.
    private func sleepers(
        _ count: Int, on executor: LoopExecutor, body: @escaping @Sendable (Int, [Sleeper]) -> Void
    ) async -> (sleepers: [Sleeper], tasks: [Task<Void, Never>]) {
        let sleepers = (0..<count).map { _ in Sleeper() }
        var tasks: [Task<Void, Never>] = []
        for (number, sleeper) in sleepers.enumerated() {
            await withCheckedContinuation { asleep in
                tasks.append(
                    Task(executorPreference: executor) {
                        await sleeper.sleep { asleep.resume() }
                        body(number, sleepers)
                    })
            }
        }
        return (sleepers, tasks)
    }

    @Test("if a task on the loop executor wakes another task, the woken task runs before tasks that were ready earlier")
    func order() async {
        let executor = LoopExecutor(loop)
        let order = Mutex<[Int]>([])
        let (sleepers, tasks) = await sleepers(3, on: executor) { number, sleepers in
            order.withLock { $0.append(number) }
            if number == 0 { sleepers[2].wake() }
        }
        // Both tasks are woken in one turn of the loop, as by the answers of one poll of the sockets.
        loop.execute {
            sleepers[0].wake()
            sleepers[1].wake()
        }
        for task in tasks { await task.value }
        #expect(order.withLock { $0 } == [0, 2, 1])
    }

    @Test("a chain of 100 tasks on the loop executor runs in order, and other jobs of the event loop run in between")
    func chain() async {
        let executor = LoopExecutor(loop)
        let count = 100
        let order = Mutex<[Int]>([])
        let (sleepers, tasks) = await sleepers(count, on: executor) { number, sleepers in
            order.withLock { $0.append(number) }
            if number + 1 < count { sleepers[number + 1].wake() }
        }
        let before = await withCheckedContinuation { continuation in
            loop.execute {
                sleepers[0].wake()
                // The loop already has the chain's first job, so the new job runs after the chain's first job.
                loop.execute { continuation.resume(returning: order.withLock { $0.count }) }
            }
        }
        for task in tasks { await task.value }
        #expect(order.withLock { $0 } == Array(0..<count))
        #expect(before < count)
    }

    @Test("the loop executor runs all of 200 tasks that other threads wake")
    func anyThread() async {
        let executor = LoopExecutor(loop)
        let done = Atomic<Int>(0)
        let (sleepers, tasks) = await sleepers(200, on: executor) { _, _ in done.add(1, ordering: .relaxed) }
        await withTaskGroup(of: Void.self) { group in
            for sleeper in sleepers { group.addTask { sleeper.wake() } }
        }
        for task in tasks { await task.value }
        #expect(done.load(ordering: .relaxed) == 200)
    }
}
