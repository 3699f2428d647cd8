import Fulfillment
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("The parking of submissions")
struct ParkingTests {
    func with(
        _ bench: @autoclosure () throws -> ParkingBench, _ body: (ParkingBench) async throws -> Void
    ) async throws {
        let bench = try bench()
        defer { bench.close() }
        try await body(bench)
    }

    @Test("if Apple keeps failing, the worker parks the submission undecided, with the failure's detail and counts")
    func trouble() async throws {
        try await with(ParkingBench()) { bench in
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            let parked = bench.store.content.parked
            #expect(parked.map(\.reason) == [.appleTrouble])
            #expect(parked.first?.detail == "timeout")
            #expect(parked.first?.history.failures == 1)
            #expect(parked.first?.history.parkings == 1)
            #expect(bench.ledger.decisions.isEmpty)
        }
    }

    @Test("if Apple fails twice, the worker retries in memory, and the decision's trace lists all three tries")
    func shortTrouble() async throws {
        try await with(ParkingBench(parkAfterSeconds: 30)) { bench in
            bench.apple.answer(.trouble(.init(.timeout)), .trouble(.init(.serverError)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.isEmpty)
            #expect(bench.ledger.decisions.map(\.parkedID) == [nil])
            #expect(bench.apple.asked.count == 3)
            let trace = try #require(bench.ledger.decisions.first?.trace)
            #expect(trace.source == .apple && trace.signature == .notProvable)
            #expect(trace.tries.map(\.result) == ["timeout", "server_error", "genuine"])
        }
    }

    @Test("if the worker abandons two submissions of a player, it does not decide the later one")
    func givenUpInOrder() async throws {
        try await with(ParkingBench()) { bench in
            bench.apple.answer(ParkingBench.genuine)
            let (earlier, later) = (
                bench.item(ParkingBench.submission("a"), offset: 1), bench.item(ParkingBench.submission("b"), offset: 2)
            )
            WorkInHand.abandon([earlier.work, later.work], immediately: false)
            if let ticket = earlier.ticket { bench.worker.lanes.leave(ticket) }
            await #expect(throws: Abandoned.self) { try await bench.work(on: later) }
            #expect(bench.ledger.decisions.isEmpty)
        }
    }

    @Test(
        "if Apple fails, the worker retries an isolated submission in memory; at a doubtful answer the worker parks it")
    func isolated() async throws {
        let retry = RetryDelay(initialSeconds: 0, doubtSeconds: 2)
        try await with(ParkingBench(retry: retry, parkAfterSeconds: 30)) { bench in
            bench.apple.answer(.trouble(.init(.timeout)), ParkingBench.empty)
            try await bench.work(on: bench.item(ParkingBench.submission("a"), isIsolated: true))
            #expect(bench.store.content.parked.map(\.reason) == [.doubt])
            #expect(bench.ledger.decisions.isEmpty)
            #expect(bench.apple.asked.count == 2)
        }
    }

    @Test(
        "if Apple keeps failing, an isolated submission is parked at the second failure, or in an outage at the first",
        arguments: [false, true])
    func isolatedFailure(inOutage: Bool) async throws {
        let retry = RetryDelay(initialSeconds: 0, doubtSeconds: 0)
        try await with(ParkingBench(retry: retry, parkAfterSeconds: 30)) { bench in
            if inOutage { bench.outage.begin() }
            try await bench.work(on: bench.item(ParkingBench.submission("a"), isIsolated: true))
            #expect(bench.store.content.parked.map(\.reason) == [.appleTrouble])
            #expect(bench.apple.asked.count == (inOutage ? 1 : 2))
        }
    }

    @Test(
        "a parked row keeps the submission's tries, and the decision's trace lists the tries before and after parking")
    func tries() async throws {
        try await with(ParkingBench()) { bench in
            let submission = ParkingBench.submission("a")
            try await bench.work(on: bench.item(submission))
            let parked = try #require(bench.store.content.parked.first)
            #expect(parked.history.tries.map(\.result) == ["timeout"])
            bench.apple.answer(ParkingBench.genuine)
            let leased = ParkingBench.leased(submission, history: parked.history)
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(bench.ledger.decisions.first?.trace?.tries.map(\.result) == ["timeout", "genuine"])
        }
    }

    @Test("if Apple's answer is doubtful, the worker parks the submission, and believes the third such answer")
    func doubts() async throws {
        try await with(ParkingBench(retry: RetryDelay(initialSeconds: 0), parkAfterSeconds: 30)) { bench in
            bench.apple.answer(ParkingBench.empty)
            let submission = ParkingBench.submission("a")
            try await bench.work(on: bench.item(submission))
            let parked = try #require(bench.store.content.parked.first)
            #expect(parked.reason == .doubt && parked.dueAfterSeconds == 300)
            func tryAgain(_ history: WaitingHistory, isDue: Bool = true) async throws {
                let leased = ParkingBench.leased(submission, .doubt, history: history, isDue: isDue)
                try await bench.work(on: SubmissionInHand(parked: leased))
            }
            try await tryAgain(parked.history)
            let second = try #require(bench.store.content.putBack.first)
            #expect(second.history.doubts == [.noPurchase: 2])
            // A try for another submission with the same proof does not count for a row that is not due.
            try await tryAgain(second.history, isDue: false)
            #expect(bench.store.content.released == [1])
            #expect(bench.ledger.decisions.isEmpty)
            try await tryAgain(second.history)
            #expect(bench.ledger.decisions.map(\.verdict) == [.whole(.noPurchase, [])])
            #expect(bench.ledger.decisions.first?.parkedID == ParkingBench.position(1).parkedID)
        }
    }

    @Test("if the app lacks the credentials for a proof, the worker parks the submission without a request to Apple")
    func noServerAPI() async throws {
        try await with(ParkingBench()) { bench in
            let submission = Submission(
                submissionID: "a", playerID: "p", bundleID: ParkingBench.bundle, proof: .transactionID("7"))
            try await bench.work(on: bench.item(submission))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedNoServerAPI])
            #expect(bench.apple.asked.count == 0)
        }
    }

    @Test(
        "if a parked submission's record is redelivered, the worker neither asks Apple nor parks the submission again")
    func redelivered() async throws {
        try await with(ParkingBench()) { bench in
            bench.ledger.recollect(.parked)
            let beyondShare = bench.item(
                ParkingBench.submission("b"), offset: 2, hasTicket: false, mayBeRedelivered: true)
            try await bench.work(on: bench.item(ParkingBench.submission("a"), mayBeRedelivered: true))
            try await bench.work(on: beyondShare)
            #expect(bench.apple.asked.count == 0)
            #expect(bench.store.content.parked.isEmpty)
        }
    }

    @Test("a redelivered record gets its first answer, even if the worker would now reject or park the submission")
    func answeredBefore() async throws {
        try await with(ParkingBench()) { bench in
            bench.ledger.recollect(.answered([Sample.event(1)]))
            func submission(_ bundle: BundleID) -> Submission {
                Submission(submissionID: "a", playerID: "p", bundleID: bundle, proof: .transactionID("7"))
            }
            let withdrawn = bench.item(submission(Sample.withdrawnBundle), offset: 2, mayBeRedelivered: true)
            try await bench.work(on: bench.item(submission(ParkingBench.bundle), mayBeRedelivered: true))
            try await bench.work(on: withdrawn)
            #expect(bench.store.content.parked.isEmpty)
            let metrics = bench.metrics.registry.render()
            #expect(metrics.contains(#"receiptd_outcomes_total{type="receipt.granted",reason=""} 2"#))
            #expect(metrics.contains(#"receiptd_submissions_total{class="repeat"} 2"#))
        }
    }

    @Test("if a player has no place left, the worker parks the submission as due at once; another player gets a place")
    func playerShare() async throws {
        try await with(ParkingBench()) { bench in
            let tickets = (0..<40).map { _ in bench.worker.enterLane(of: "hog") }
            #expect(tickets.count { $0 != nil } == ParkingPolicy.placesOfPlayer)
            #expect(bench.worker.enterLane(of: "guest") != nil)
            if let ticket = tickets[0] { bench.worker.lanes.leave(ticket) }
            #expect(bench.worker.enterLane(of: "hog") != nil)
            try await bench.work(
                on: bench.item(ParkingBench.submission("a", player: "hog"), hasTicket: false))
            #expect(bench.store.content.parked.map(\.reason) == [.playerShare])
            #expect(bench.store.content.parked.first?.dueAfterSeconds == 0)
            #expect(bench.apple.asked.count == 0)
        }
    }

    @Test("if three workers died of a record, the next worker parks it for an hour untried, even if the app is blocked")
    func setAside() async throws {
        try await with(ParkingBench()) { bench in
            bench.apple.answer(ParkingBench.genuine)
            let blocked = Submission(
                submissionID: "b", playerID: "p", bundleID: ParkingBench.bundle, proof: .transactionID("7"))
            for (offset, submission) in [(1, ParkingBench.submission("a")), (2, blocked)] {
                try await bench.work(
                    on: bench.item(submission, offset: Int64(offset), isIsolated: true, isSetAside: true))
            }
            let parked = bench.store.content.parked
            #expect(parked.map(\.reason) == [.crashed, .crashed])
            #expect(parked.allSatisfy { $0.dueAfterSeconds == ParkingPolicy.lastTrySeconds })
            #expect(parked.first?.detail?.contains("died 3 times") == true)
            #expect(bench.apple.asked.count == 0 && bench.ledger.decisions.isEmpty)
            #expect(bench.metrics.incidents.take().contains { $0.kind == .crashed && $0.count == 2 })
        }
    }

    @Test("if a player has too many parked rows, the worker rejects a submission as too_many_waiting, tried or untried")
    func tooManyWaiting() async throws {
        try await with(ParkingBench()) { bench in
            bench.store.fill()
            try await bench.work(on: bench.item(ParkingBench.submission("tried"), offset: 1))
            try await bench.work(on: bench.item(ParkingBench.submission("untried"), offset: 2, hasTicket: false))
            #expect(bench.apple.asked.count == 1)
            #expect(bench.store.content.parked.isEmpty)
            let whole = Verdict.whole(.tooManyWaiting, [])
            #expect(bench.ledger.decisions.map(\.verdict) == [whole, whole])
            #expect(bench.ledger.decisions.map(\.position.offset) == [1, 2])
        }
    }

    @Test("a try after a failed request or after parking counts as a retry, and a try after an unsent request does not")
    func kinds() async throws {
        try await with(ParkingBench(parkAfterSeconds: 30)) { bench in
            let retries = Shared<[Bool]>([])
            bench.apple.onAsk { request in retries.update { $0.append(request.isRetry) } }
            bench.apple.answer(
                .trouble(.init(.connection, wasAsked: false)), .trouble(.init(.timeout)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(retries.value == [false, false, true])
            let leased = ParkingBench.leased(
                ParkingBench.submission("b"), offset: 2, .playerShare, history: WaitingHistory(parkings: 1))
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(retries.value == [false, false, true, true])
        }
    }

    @Test("while other retries hold half of the window, the worker parks a submission that fails")
    func retryShare() async throws {
        try await with(ParkingBench(maximumInFlight: 4, parkAfterSeconds: 30)) { bench in
            #expect(bench.parking.slots.beginRetrying() && bench.parking.slots.beginRetrying())
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.map(\.reason) == [.appleTrouble])
            bench.parking.slots.endRetrying()
            bench.apple.answer(.trouble(.init(.timeout)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("b"), offset: 2))
            #expect(bench.store.content.parked.count == 1)
            // Submission "b" has freed its place among the retries.
            #expect(bench.parking.slots.beginRetrying())
        }
    }

    @Test("during Apple's outage the worker retries a failing submission in memory")
    func nothingParkedInOutage() async throws {
        try await with(ParkingBench()) { bench in
            bench.outage.begin()
            bench.apple.answer(
                .trouble(.init(.timeout)), .trouble(.init(.timeout)), .trouble(.init(.timeout)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.isEmpty)
            #expect(bench.ledger.decisions.count == 1)
        }
    }

    @Test("the time of Apple's outage does not count towards a submission's waiting time before parking")
    func outageIsNoWaiting() throws {
        let bench = try ParkingBench(
            retry: RetryDelay(initialSeconds: 10, maximumSeconds: 10, doubtSeconds: 0), parkAfterSeconds: 100)
        defer { bench.close() }
        let retries = RetryState(of: bench.item(ParkingBench.submission("a")), in: bench.parking)
        defer { retries.end() }
        func step() -> Double {
            guard case .tryAgain(let seconds) = retries.next(after: .undecided(.init(.timeout)), now: .distantTest)
            else {
                Issue.record("parked")
                return 0
            }
            return seconds
        }
        let first = step()
        let second = step()
        #expect(retries.history.waitedSeconds == first)
        bench.outage.last(seconds: second / 2)
        let third = step()
        #expect(abs(retries.history.waitedSeconds - first - second / 2) < 1e-9)
        bench.outage.last(seconds: third * 2)
        _ = step()
        #expect(abs(retries.history.waitedSeconds - first - second / 2) < 1e-9)
    }

    @Test("an undecodable receipt counts as class `junk`, and a genuine receipt as class `other`")
    func classes() async throws {
        try await with(ParkingBench()) { bench in
            let junk = Submission(
                submissionID: "j", playerID: "player-1", bundleID: ParkingBench.bundle, proof: .receipt("!!!"))
            try await bench.work(on: bench.item(junk))
            #expect(bench.metrics.submissions.with("junk").value == 1)
            bench.apple.answer(ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("a"), offset: 2))
            #expect(bench.metrics.submissions.with("other").value == 1)
        }
    }
}
