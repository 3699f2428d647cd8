import NamesAndTimes
import Testing

@testable import Pipeline

@Suite("An attempt at a batch")
struct BatchAttemptTests {
    @Test("a task past its deadline is cancelled, and its batch does not succeed", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let ended = AsyncStream<Bool>.makeStream()
        let isDone = try await blocking {
            let result = BatchAttempt.run(until: WallClock.monotonicSeconds, mayWait: { true }) {
                // The task stands for a publication that ends only when it is cancelled.
                while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
                ended.continuation.yield(Task.isCancelled)
                throw Abandoned()
            }
            if case .success = result { return true }
            return false
        }
        #expect(!isDone)
        var iterator = ended.stream.makeAsyncIterator()
        let wasCancelled = await iterator.next()
        #expect(wasCancelled == true)
    }

    @Test("a task that ends before its deadline succeeds")
    func inTime() async throws {
        let isDone = try await blocking {
            let result = BatchAttempt.run(until: WallClock.monotonicSeconds + 60, mayWait: { true }) { nil }
            if case .success = result { return true }
            return false
        }
        #expect(isDone)
    }
}
