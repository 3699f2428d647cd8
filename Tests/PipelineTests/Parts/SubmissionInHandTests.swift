import Kafka
import TestSupport
import Testing

@testable import Pipeline

@Suite("Submission in hand")
struct SubmissionInHandTests {
    private enum Ending { case done, abandoned }

    /// Starts work that waits for as long as it may.
    private func startWaiting(_ item: SubmissionInHand) async throws -> Shared<Ending?> {
        let ending = Shared<Ending?>(nil)
        let isWaiting = Shared(false)
        item.start { item in
            do throws(Abandoned) {
                try await item.waiting {
                    isWaiting.update { $0 = true }
                    try await untilCancelled()
                }
                ending.update { $0 = .done }
            } catch {
                ending.update { $0 = .abandoned }
            }
            item.end()
        }
        try await isWaiting.until("it waits") { $0 }
        return ending
    }

    @Test("work that only waits is given up at once", arguments: [false, true])
    func waiting(immediately: Bool) async throws {
        let item = Sample.inFlight()
        let ending = try await startWaiting(item)
        item.abandon(immediately: immediately)
        try await ending.until("it is given up") { $0 == .abandoned }
    }

    @Test("work under way may finish, but not begin to wait again")
    func underWay() async throws {
        let item = Sample.inFlight()
        let gate = Shared(false)
        let seen = Shared<(wasCancelled: Bool, isAbandoned: Bool)?>(nil)
        item.start { item in
            // A cancellation would end it early, and be seen.
            try? await gate.until("the gate is open") { $0 }
            let wasCancelled = Task.isCancelled
            var isAbandoned = false
            do throws(Abandoned) { try await item.waiting {} } catch { isAbandoned = true }
            seen.update { [isAbandoned] in $0 = (wasCancelled, isAbandoned) }
        }
        item.abandon(immediately: false)
        gate.update { $0 = true }
        try await seen.until("it is over") { $0 != nil }
        #expect(seen.value?.wasCancelled == false)
        #expect(seen.value?.isAbandoned == true)
    }

    @Test("in a hurry, work under way is cancelled too, also when it was abandoned before it started")
    func immediately() async throws {
        for isEarly in [false, true] {
            let item = Sample.inFlight()
            let isOver = Shared(false)
            if isEarly { item.abandon(immediately: true) }
            item.start { _ in
                try? await untilCancelled()
                isOver.update { $0 = true }
            }
            if !isEarly { item.abandon(immediately: true) }
            try await isOver.until("it is cancelled") { $0 }
        }
    }

    @Test("what has ended is not kept by its task")
    func ended() async throws {
        weak var kept: SubmissionInHand?
        let hasEnded = Shared(false)
        do {
            let item = Sample.inFlight()
            kept = item
            item.start { item in
                item.end()
                hasEnded.update { $0 = true }
            }
            try await hasEnded.until("it has ended") { $0 }
        }
        // Nothing tells of the end of an object of the product.
        try await eventually("its task lets go of it") { kept == nil }
    }
}
