import Kafka
import TestSupport
import Testing

@testable import Pipeline

@Suite("The work on a submission in hand")
struct WorkInHandTests {
    private enum Ending { case done, abandoned }

    /// Starts work that waits until the worker abandons it.
    private func startWaiting(_ work: WorkInHand) async throws -> Shared<Ending?> {
        let ending = Shared<Ending?>(nil)
        let isWaiting = Shared(false)
        work.start {
            do throws(Abandoned) {
                try await work.waiting {
                    isWaiting.update { $0 = true }
                    try await untilCancelled()
                }
                ending.update { $0 = .done }
            } catch {
                ending.update { $0 = .abandoned }
            }
            work.end()
        }
        try await isWaiting.until("it waits") { $0 }
        return ending
    }

    @Test("if the worker abandons a submission that waits, the wait throws Abandoned", arguments: [false, true])
    func waiting(immediately: Bool) async throws {
        let work = WorkInHand(at: ParkingBench.position(0))
        let ending = try await startWaiting(work)
        WorkInHand.abandon([work], immediately: immediately)
        try await ending.until("it is given up") { $0 == .abandoned }
    }

    @Test(
        "if the worker abandons a submission at work, the work goes on uncancelled, and the next wait throws Abandoned")
    func underWay() async throws {
        let work = WorkInHand(at: ParkingBench.position(0))
        let gate = Shared(false)
        let seen = Shared<(wasCancelled: Bool, isAbandoned: Bool)?>(nil)
        work.start {
            // A cancellation would end this wait early, and `wasCancelled` would be true.
            try? await gate.until("the gate is open") { $0 }
            let wasCancelled = Task.isCancelled
            var isAbandoned = false
            do throws(Abandoned) { try await work.waiting {} } catch { isAbandoned = true }
            seen.update { [isAbandoned] in $0 = (wasCancelled, isAbandoned) }
        }
        WorkInHand.abandon([work], immediately: false)
        gate.update { $0 = true }
        try await seen.until("it is over") { $0 != nil }
        #expect(seen.value?.wasCancelled == false)
        #expect(seen.value?.isAbandoned == true)
    }

    @Test("if a submission is abandoned immediately, its work is cancelled, even if the work begins only afterwards")
    func immediately() async throws {
        for isEarly in [false, true] {
            let work = WorkInHand(at: ParkingBench.position(0))
            let isOver = Shared(false)
            if isEarly { WorkInHand.abandon([work], immediately: true) }
            work.start {
                try? await untilCancelled()
                isOver.update { $0 = true }
            }
            if !isEarly { WorkInHand.abandon([work], immediately: true) }
            try await isOver.until("it is cancelled") { $0 }
        }
    }

    @Test("once the work on a submission has ended, the work's task does not keep the work in memory")
    func ended() async throws {
        weak var kept: WorkInHand?
        let hasEnded = Shared(false)
        do {
            let work = WorkInHand(at: ParkingBench.position(0))
            kept = work
            work.start {
                work.end()
                hasEnded.update { $0 = true }
            }
            try await hasEnded.until("it has ended") { $0 }
        }
        // No signal announces that an object is freed, so the test polls.
        try await eventually("its task lets go of it") { kept == nil }
    }
}
