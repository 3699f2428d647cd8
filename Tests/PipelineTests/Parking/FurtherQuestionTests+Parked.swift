import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

/// Tests the answers to look-ups that a parked row keeps.
extension FurtherQuestionTests {
    @Test("if a parked row's look-up has an account token that the receipt lacks, the worker judges by this token")
    func parkedFacts() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1", "2"))
            var bound = Self.purchase("1")
            bound.appAccountToken = "4f7c2b8e-5c1d-4c3e-9a37-0d5f0f4e9b11"
            var history = WaitingHistory(failures: 1, firstFailureAt: WallClock.now)
            history.lookUps = RememberedLookUps(told: [bound, Self.purchase("2")], since: WallClock.now)
            let thief = Submission(
                submissionID: "r", playerID: "player-2", bundleID: ParkingBench.bundle,
                proof: .receipt(ParkingBench.receipt("r")), appAccountToken: "0b7a3c52-91a2-4be7-8d40-6f2f5d1c7e02")
            try await bench.work(on: SubmissionInHand(parked: ParkingBench.leased(thief, history: history)))
            #expect(bench.queries.asked.isEmpty)
            #expect(verdicts(bench) == ["1": .reject(.bindingMismatch), "2": .grant(payload: nil)])
        }
    }

    @Test("if a parked row has kept a look-up for a day, the worker looks the transaction up again")
    func outdated() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            var refunded = Self.purchase("1")
            refunded.cancelledAt = WallClock.now
            bench.queries.register(Self.told(refunded))
            var history = WaitingHistory(failures: 1, firstFailureAt: WallClock.now)
            let yesterday = WallClock.now.adding(milliseconds: -86_400_000)
            history.lookUps = RememberedLookUps(told: [Self.purchase("1")], since: yesterday)
            let leased = ParkingBench.leased(ParkingBench.submission("r"), history: history)
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(verdicts(bench) == ["1": .reject(.cancelled)])
        }
    }

    @Test("if the ledger no longer has a transaction, the worker looks it up at the parked submission's next try")
    func endedHold() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1", "2"))
            bench.ledger.know("1")
            bench.queries.fail(.transaction, .trouble(.init(.timeout)))
            let submission = ParkingBench.submission("r")
            try await bench.work(on: SubmissionInHand(parked: ParkingBench.leased(submission)))
            let putBack = try #require(bench.store.content.putBack.first)
            #expect(putBack.history.lookUps.isEmpty)
            bench.ledger.forget("1")
            var refunded = Self.purchase("1")
            refunded.cancelledAt = WallClock.now
            bench.queries.register(Self.told(refunded), Self.told(Self.purchase("2")))
            let again = ParkingBench.leased(submission, history: putBack.history)
            try await bench.work(on: SubmissionInHand(parked: again))
            #expect(verdicts(bench) == ["1": .reject(.cancelled), "2": .grant(payload: nil)])
        }
    }

    @Test("if Apple's newest answer shows a refund that a parked row's look-up lacks, the worker rejects the purchase")
    func laterRefund() async throws {
        try await with { bench in
            var refunded = Self.purchase("1")
            refunded.cancelledAt = WallClock.now
            bench.apple.answer(
                .genuine(
                    GenuineReceipt(bundleID: ParkingBench.bundle, environment: .production, purchases: [refunded])))
            var history = WaitingHistory(failures: 1, firstFailureAt: WallClock.now)
            history.lookUps = RememberedLookUps(told: [Self.purchase("1")], since: WallClock.now)
            let leased = ParkingBench.leased(ParkingBench.submission("r"), history: history)
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(verdicts(bench) == ["1": .reject(.cancelled)])
        }
    }
}
