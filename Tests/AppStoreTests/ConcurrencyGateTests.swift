import AppStore
import Fulfillment
import Synchronization
import Testing

@Suite("The concurrency gate")
struct ConcurrencyGateTests {
    /// Waits until `condition` holds, and yields to other tasks meanwhile.
    private func until(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    /// A door at which tasks wait until the test opens it.
    private final class Door: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation
        init() { (stream, continuation) = AsyncStream.makeStream() }
        func open() { continuation.finish() }
        func pass() async { for await _ in stream {} }
    }

    /// A collector of messages from tasks that run at the same time.
    private final class Diary: Sendable {
        private let inside = Atomic(0)
        private let most = Atomic(0)
        private let numbers = Mutex<[Int]>([])

        func enter() {
            let count = inside.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
            most.max(count, ordering: .sequentiallyConsistent)
        }
        func leave(_ number: Int) {
            inside.wrappingSubtract(1, ordering: .sequentiallyConsistent)
            numbers.withLock { $0.append(number) }
        }
        var mostInside: Int { most.load(ordering: .sequentiallyConsistent) }
        var order: [Int] { numbers.withLock { $0 } }
    }

    @Test("The concurrency gate never has more tasks inside than its limit, and admits every task in the end")
    func limit() async {
        let gate = ConcurrencyGate(limit: 3)
        let diary = Diary()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    await gate.withPermit {
                        diary.enter()
                        await Task.yield()
                        diary.leave(number)
                    }
                }
            }
        }
        #expect(diary.mostInside <= 3)
        #expect(diary.order.sorted() == Array(0..<500))
        #expect(gate.inUse == 0)
        #expect(gate.waiting == 0)
    }

    @Test("Tasks that wait at the concurrency gate enter in the order of their arrival")
    func order() async {
        let gate = ConcurrencyGate(limit: 1)
        let door = Door()
        let diary = Diary()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await gate.withPermit { await door.pass() } }
            await until { gate.inUse == 1 }
            for number in 0..<20 {
                group.addTask { await gate.withPermit { diary.leave(number) } }
                await until { gate.waiting == number + 1 }
            }
            door.open()
        }
        #expect(diary.order == Array(0..<20))
    }

    @Test("If a task is cancelled while it waits at the concurrency gate, it gets no permit, and the next task enters")
    func cancellation() async {
        let gate = ConcurrencyGate(limit: 1)
        let door = Door()
        let holder = Task { await gate.withPermit { await door.pass() } }
        await until { gate.inUse == 1 }
        let cancelled = Task { await gate.withPermit { true } }
        let patient = Task { await gate.withPermit { true } }
        await until { gate.waiting == 2 }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        #expect(gate.waiting == 1)
        door.open()
        _ = await holder.value
        #expect(await patient.value == true)
        #expect(gate.inUse == 0)
    }

    @Test("If a task is cancelled before it asks the concurrency gate for a permit, the gate does not admit the task")
    func cancelledBefore() async {
        let gate = ConcurrencyGate(limit: 1)
        let result = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await gate.withPermit { true }
        }.value
        #expect(result == nil)
        #expect(gate.inUse == 0)
    }

    @Test("If the concurrency gate dismisses a waiting task, the task gets no permit, and the task behind it enters")
    func dismissed() async {
        let gate = ConcurrencyGate(limit: 2)
        let door = Door()
        async let inside: Void? = gate.withPermit { await door.pass() }
        await until { gate.inUse == 1 }
        // Queued requests may take one of the two places. Background requests get no place while another request waits.
        let queue = RequestKind(.queue, isFirst: true)
        async let first: Void? = gate.withPermit(queue, since: 1) { await door.pass() }
        await until { gate.inUse == 2 }
        async let early: Void? = gate.withPermit(queue, since: 2) {}
        await until { gate.waiting == 1 }
        async let late: Void? = gate.withPermit(queue, since: 9) {}
        await until { gate.waiting == 2 }
        gate.dismiss([queue], waitingSince: 5)
        #expect(await early == nil && gate.waiting == 1)
        door.open()
        _ = await (inside, first)
        #expect(await late != nil && gate.inUse == 0)
    }

    @Test("If cancellations race with permits, the concurrency gate loses no permit")
    func races() async {
        let gate = ConcurrencyGate(limit: 2)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    let task = Task { await gate.withPermit { await Task.yield() } }
                    if number % 2 == 0 { task.cancel() }
                    _ = await task.value
                }
            }
        }
        #expect(gate.inUse == 0)
        #expect(gate.waiting == 0)
    }

    @Test("The concurrency gate admits no task while it is above a lowered limit; a raised limit admits tasks at once")
    func adjusting() async {
        let gate = ConcurrencyGate(limit: 2)
        let doors = (0..<3).map { _ in Door() }
        let holders = doors.prefix(2).map { door in Task { await gate.withPermit { await door.pass() } } }
        await until { gate.inUse == 2 }
        let third = Task { await gate.withPermit { await doors[2].pass() } }
        await until { gate.waiting == 1 }
        gate.adjust(limit: 1)
        doors[0].open()
        _ = await holders[0].value
        #expect(gate.inUse == 1)
        #expect(gate.waiting == 1)
        gate.adjust(limit: 5)
        #expect(gate.inUse == 2)
        #expect(gate.waiting == 0)
        doors[1].open()
        doors[2].open()
        _ = await holders[1].value
        _ = await third.value
        #expect(gate.inUse == 0)
        gate.adjust(limit: 0)
        #expect(gate.limit == 1)
    }
}
