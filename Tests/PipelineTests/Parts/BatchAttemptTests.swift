import NamesAndTimes
import Testing

@testable import Pipeline

@Suite("The worker's attempt at a batch, with a deadline")
struct BatchAttemptTests {
    @Test(
        "if an attempt at a batch reaches its deadline, it cancels the batch's task, and returns no success",
        .timeLimit(.minutes(1)))
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

    @Test("if a batch's task ends before the deadline, the attempt at the batch returns success")
    func inTime() async throws {
        let isDone = try await blocking {
            let result = BatchAttempt.run(until: WallClock.monotonicSeconds + 60, mayWait: { true }) { nil }
            if case .success = result { return true }
            return false
        }
        #expect(isDone)
    }
}
