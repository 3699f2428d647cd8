import NamesAndTimes
import Testing

@testable import Pipeline

@Suite("An attempt at a batch")
struct BatchAttemptTests {
    @Test("at the deadline the attempt cancels its task, and returns no success", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let ended = AsyncStream<Bool>.makeStream()
        let isDone = try await blocking {
            let result = BatchAttempt.run(until: WallClock.monotonicSeconds, mayWait: { true }) {
                // The task simulates a publication that ends only by cancellation.
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

    @Test("if the task ends before the deadline, the attempt returns success")
    func inTime() async throws {
        let isDone = try await blocking {
            let result = BatchAttempt.run(until: WallClock.monotonicSeconds + 60, mayWait: { true }) { nil }
            if case .success = result { return true }
            return false
        }
        #expect(isDone)
    }
}
