import Testing

@testable import Ledger

@Suite("The queue that hands out groups of requests")
struct GroupQueueTests {
    @Test(
        "if a reader of the group queue wants three elements, it never gets two, and gets a group when three wait",
        .timeLimit(.minutes(1)))
    func minimum() async {
        let queue = GroupQueue<Int, Int>()
        let patient = Task {
            let group = await queue.next(minimum: 3, maximum: 10, bytes: 100) ?? []
            for entry in group { entry.answer(-entry.request) }
            return group.count
        }
        // The reader with the minimum of three never gets a group of two, even if both elements come before it reads.
        async let first = queue.ask(1, size: 1)
        async let second = queue.ask(2, size: 1)
        var answered = 0
        while answered < 2 {
            for entry in await queue.next(maximum: 10, bytes: 100) ?? [] {
                entry.answer(entry.request)
                answered += 1
            }
        }
        #expect((try? await (first, second)) ?? (0, 0) == (1, 2))
        async let third = queue.ask(3, size: 1)
        async let fourth = queue.ask(4, size: 1)
        async let fifth = queue.ask(5, size: 1)
        #expect((try? await [third, fourth, fifth]) == [-3, -4, -5])
        #expect(await patient.value == 3)
    }

    @Test(
        "closing the group queue ends its readers, whether they wait for one element or for several",
        .timeLimit(.minutes(1)))
    func close() async {
        let queue = GroupQueue<Int, Int>()
        let waiting = [1, 3].map { minimum in
            Task { await queue.next(minimum: minimum, maximum: 10, bytes: 100) == nil }
        }
        queue.close()
        for task in waiting { #expect(await task.value) }
    }

    @Test(
        "the group queue's watcher wakes an idle reader for an element that no reader took; closing ends the watcher",
        .timeLimit(.minutes(1)))
    func watch() async {
        let queue = GroupQueue<Int, Int>(patience: .milliseconds(20))
        let watch = Task { await queue.watch() }
        // The second reader never reaches its minimum, so only the watcher wakes it.
        let second = Task { await queue.next(minimum: .max, maximum: 10, bytes: 100) ?? [] }
        async let first = queue.ask(1, size: 1)
        for entry in await second.value { entry.answer(-entry.request) }
        #expect((try? await first) == -1)
        queue.close()
        await watch.value
    }

    @Test("the watcher of an empty group queue ends when the watcher's task is cancelled", .timeLimit(.minutes(1)))
    func cancelledWatch() async {
        let queue = GroupQueue<Int, Int>()
        let watch = Task { await queue.watch() }
        watch.cancel()
        await watch.value
    }
}
