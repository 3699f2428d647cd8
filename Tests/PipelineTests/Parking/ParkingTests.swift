import Fulfillment
import Logging
import Operations
import Testing

@testable import Pipeline

@Suite("Parking")
struct ParkingTests {
    private func with(
        _ bench: @autoclosure () throws -> ParkingBench, _ body: (ParkingBench) async throws -> Void
    ) async throws {
        let bench = try bench()
        defer { bench.close() }
        try await body(bench)
    }

    @Test("trouble that lasts is parked with what is known of it, and its record is done without an event")
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

    @Test("a short trouble is waited out in memory")
    func shortTrouble() async throws {
        try await with(ParkingBench(parkAfterSeconds: 30)) { bench in
            bench.apple.answer(.trouble(.init(.timeout)), .trouble(.init(.serverError)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.isEmpty)
            #expect(bench.ledger.decisions.map(\.parkedID) == [nil])
            #expect(bench.apple.asked == 3)
            let trace = try #require(bench.ledger.decisions.first?.trace)
            #expect(trace.source == .apple && trace.signature == .notProvable)
            #expect(trace.tries.map(\.result) == ["timeout", "server_error", "genuine"])
        }
    }

    @Test("tries go into the parked row and come back with it, to stand beside the decision in the end")
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

    @Test("a doubt that takes longer than memory keeps it is parked, and three doubts over parkings are believed")
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
            // Somebody else's try does not count for one whose time has not come.
            try await tryAgain(second.history, isDue: false)
            #expect(bench.store.content.released == [1])
            #expect(bench.ledger.decisions.isEmpty)
            try await tryAgain(second.history)
            #expect(bench.ledger.decisions.map(\.verdict) == [.whole(.noPurchase, [])])
            #expect(bench.ledger.decisions.first?.parkedID == ParkingBench.position(1).parkedID)
        }
    }

    @Test("a blocked app's submission is parked after a second try, and the app's first answer wakes the others, once")
    func blocked() async throws {
        try await with(ParkingBench(parkAfterSeconds: 30)) { bench in
            bench.apple.answer(.blocked(.sharedSecret))
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedSharedSecret])
            #expect(bench.apple.asked == 2)
            bench.apple.answer(ParkingBench.genuine)
            for offset in 2...4 {
                try await bench.work(on: bench.item(ParkingBench.submission("b\(offset)"), offset: Int64(offset)))
            }
            while bench.store.content.woken.isEmpty { await Task.yield() }
            #expect(bench.store.content.woken == [ParkingBench.bundle])
        }
    }

    @Test("a proof that needs credentials the app lacks is parked without being asked for")
    func noServerAPI() async throws {
        try await with(ParkingBench()) { bench in
            let submission = Submission(
                submissionID: "a", playerID: "p", bundleID: ParkingBench.bundle, proof: .transactionID("7"))
            try await bench.work(on: bench.item(submission))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedNoServerAPI])
            #expect(bench.apple.asked == 0)
        }
    }

    @Test("a redelivered record that waits is done, without Apple and without another row")
    func redelivered() async throws {
        try await with(ParkingBench()) { bench in
            bench.ledger.recollect(.parked)
            let beyondShare = bench.item(
                ParkingBench.submission("b"), offset: 2, hasTicket: false, mayBeRedelivered: true)
            try await bench.work(on: bench.item(ParkingBench.submission("a"), mayBeRedelivered: true))
            try await bench.work(on: beyondShare)
            #expect(bench.apple.asked == 0)
            #expect(bench.store.content.parked.isEmpty)
        }
    }

    @Test("the thirty-third submission of one player is parked, due at once, and no one else's is")
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
            #expect(bench.apple.asked == 0)
        }
    }

    @Test("one that may not be parked is answered and stored, whether it was tried or found no place in memory")
    func tooManyWaiting() async throws {
        try await with(ParkingBench()) { bench in
            bench.store.fill()
            try await bench.work(on: bench.item(ParkingBench.submission("tried"), offset: 1))
            try await bench.work(on: bench.item(ParkingBench.submission("untried"), offset: 2, hasTicket: false))
            #expect(bench.apple.asked == 1)
            #expect(bench.store.content.parked.isEmpty)
            let whole = Verdict.whole(.tooManyWaiting, [])
            #expect(bench.ledger.decisions.map(\.verdict) == [whole, whole])
            #expect(bench.ledger.decisions.map(\.position.offset) == [1, 2])
        }
    }

    @Test("what was parked is no first try, and what Apple was not asked about is no failure")
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

    @Test("retrying submissions that hold half of the window leave no place for one more")
    func retryShare() async throws {
        try await with(ParkingBench(maximumInFlight: 4, parkAfterSeconds: 30)) { bench in
            #expect(bench.parking.slots.beginRetrying() && bench.parking.slots.beginRetrying())
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.map(\.reason) == [.appleTrouble])
            bench.parking.slots.endRetrying()
            bench.apple.answer(.trouble(.init(.timeout)), ParkingBench.genuine)
            try await bench.work(on: bench.item(ParkingBench.submission("b"), offset: 2))
            #expect(bench.store.content.parked.count == 1)
            // Its place is free again.
            #expect(bench.parking.slots.beginRetrying())
        }
    }

    @Test("what comes due is asked for once for each proof, decided or put back, and its row goes")
    func due() async throws {
        try await with(ParkingBench()) { bench in
            let loop = bench.leaseLoop()
            bench.apple.answer(ParkingBench.genuine)
            let same = ParkingBench.submission("same")
            let again = Submission(
                submissionID: "again", playerID: "player-2", bundleID: ParkingBench.bundle, proof: same.proof)
            bench.store.add(
                ParkingBench.leased(same, offset: 1), ParkingBench.leased(again, offset: 2),
                ParkingBench.leased(ParkingBench.submission("other"), offset: 3))
            loop.start()
            while bench.store.content.removed.count < 3 { await Task.yield() }
            #expect(bench.apple.asked == 2)
            #expect(bench.ledger.decisions.count == 3)
            bench.apple.answer(.trouble(.init(.serverError)))
            bench.store.add(ParkingBench.leased(ParkingBench.submission("late"), offset: 4))
            while bench.store.content.putBack.isEmpty { await Task.yield() }
            #expect(bench.store.content.putBack.first?.history.failures == 2)
            #expect(bench.store.content.limits.allSatisfy { $0 <= 5 })
            await loop.stop()
            #expect(bench.parking.slots.leased == 0)
        }
    }

    @Test("one that could not be given back is not taken for answered: its row stays")
    func notGivenBack() async throws {
        try await with(ParkingBench()) { bench in
            let loop = bench.leaseLoop()
            bench.store.refusePutBack()
            bench.store.add(ParkingBench.leased(ParkingBench.submission("undecided"), offset: 7))
            loop.start()
            while bench.store.content.released.isEmpty, bench.store.content.removed.isEmpty { await Task.yield() }
            await loop.stop()
            #expect(bench.store.content.released == [7])
            #expect(bench.store.content.removed.isEmpty)
        }
    }

    @Test("a suspect is tried while nothing else is leased, and one that is set aside is counted and not tried")
    func suspects() async throws {
        try await with(ParkingBench()) { bench in
            let loop = bench.leaseLoop()
            bench.apple.answer(ParkingBench.genuine)
            let suspect = ParkingBench.submission("suspect")
            let beside = Shared<[Int]>([])
            bench.apple.onAsk { [slots = bench.parking.slots] request in
                guard request.receipt == ParkingBench.receipt("suspect") else { return }
                beside.update { $0.append(slots.leased) }
            }
            bench.store.addSuspects(
                .setAside(SetAsideSubmission(submissionID: "poison", bundleID: "b", deaths: 3)),
                .isolated(ParkingBench.leased(suspect, offset: 1)))
            bench.store.add(
                ParkingBench.leased(ParkingBench.submission("one"), offset: 2),
                ParkingBench.leased(ParkingBench.submission("other"), offset: 3))
            loop.start()
            while bench.store.content.removed.count < 3 { await Task.yield() }
            await loop.stop()
            #expect(bench.store.content.removed.sorted() == [1, 2, 3])
            #expect(beside.value == [1])
            #expect(bench.store.content.forgiven.isEmpty)
            #expect(bench.metrics.registry.render().contains(#"receiptd_parkings_total{reason="crashed"} 1"#))
        }
    }

    @Test("leased work has a fifth of the slots while fresh work is in memory, half of them otherwise")
    func slots() {
        let slots = WorkSlots(maximumInFlight: 2_000, appleConcurrency: 100)
        #expect(slots.roomForLeases == 50)
        slots.freshBegan()
        #expect(slots.roomForLeases == 20)
        slots.leasesBegan(30)
        #expect(slots.roomForLeases == 0)
        slots.freshEnded()
        #expect(slots.roomForLeases == 20)
        #expect(WorkSlots(maximumInFlight: 1, appleConcurrency: 1).maximumLeased == 1)
    }

    @Test("while Apple is out nothing is parked for it")
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

    @Test("the part of a wait for which Apple was out does not count towards parking")
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

    @Test("an answered submission is counted by what it was: junk where it was seen here")
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

    @Test("an app is woken seldom, however often its answers change")
    func wakes() {
        let apps = BlockedApps()
        let one = BlockedApps.Credentials(bundleID: "a", areForReceipts: true)
        #expect(apps.noteBlocked(one) && !apps.noteBlocked(one))
        #expect(!apps.noteAnswer(.init(bundleID: "b", areForReceipts: true), wasBlocked: false, now: 0))
        #expect(!apps.noteAnswer(.init(bundleID: "a", areForReceipts: false), wasBlocked: false, now: 0))
        #expect(apps.noteAnswer(one, wasBlocked: false, now: 0))
        #expect(apps.noteBlocked(one))
        #expect(!apps.noteAnswer(one, wasBlocked: true, now: 10))
        #expect(apps.noteAnswer(one, wasBlocked: true, now: PipelineLimits.wakeSeconds))
    }
}
