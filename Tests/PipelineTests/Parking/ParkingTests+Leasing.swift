import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

// Tests when workers lease parked rows, and that they wake the rows once an app's credentials work again.
extension ParkingTests {
    @Test(
        "parked rows of one proof cost one request; the loop removes the decided rows, and keeps a row if Apple fails")
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
            try await bench.changes.until("three rows are gone") { bench.store.content.removed.count >= 3 }
            #expect(bench.apple.asked.count == 2)
            #expect(bench.ledger.decisions.count == 3)
            bench.apple.answer(.trouble(.init(.serverError)))
            bench.store.add(ParkingBench.leased(ParkingBench.submission("late"), offset: 4))
            try await bench.changes.until("it is put back") { !bench.store.content.putBack.isEmpty }
            #expect(bench.store.content.putBack.first?.history.failures == 2)
            #expect(bench.store.content.limits.allSatisfy { $0 <= 5 })
            await loop.stop()
            #expect(bench.parking.slots.leased == 0)
        }
    }

    @Test("if the database refuses to put a parked row back, the loop keeps the row and releases the row's lease")
    func notPutBack() async throws {
        try await with(ParkingBench()) { bench in
            let loop = bench.leaseLoop()
            bench.store.refuseEnds()
            bench.store.add(ParkingBench.leased(ParkingBench.submission("undecided"), offset: 7))
            loop.start()
            try await bench.changes.until("its lease ends, or its row") {
                !bench.store.content.released.isEmpty || !bench.store.content.removed.isEmpty
            }
            await loop.stop()
            #expect(bench.store.content.released == [7])
            #expect(bench.store.content.removed.isEmpty)
        }
    }

    @Test(
        "if a parked row may have killed workers, the loop tries it alone, and marks it as at work only between waits")
    func suspects() async throws {
        try await with(ParkingBench()) { bench in
            let loop = bench.leaseLoop()
            bench.apple.answer(ParkingBench.genuine)
            let suspect = ParkingBench.submission("suspect")
            let beside = Shared<[Int]>([])
            let accusedWhenAsked = Shared<[Bool?]>([])
            bench.apple.onAsk { [slots = bench.parking.slots, store = bench.store] request in
                guard request.receipt == ParkingBench.receipt("suspect") else { return }
                beside.update { $0.append(slots.leased) }
                accusedWhenAsked.update { $0.append(store.content.accusations.last?.isAtWork) }
            }
            bench.store.addSuspects(
                .setAside(SetAsideSubmission(submissionID: "poison", bundleID: "b", deaths: 3, isTriedAgain: true)),
                .isolated(ParkingBench.leased(suspect, offset: 1)))
            bench.store.add(
                ParkingBench.leased(ParkingBench.submission("one"), offset: 2),
                ParkingBench.leased(ParkingBench.submission("other"), offset: 3))
            loop.start()
            try await bench.changes.until("three rows are gone") { bench.store.content.removed.count >= 3 }
            await loop.stop()
            #expect(bench.store.content.removed.sorted() == [1, 2, 3])
            #expect(beside.value == [1])
            // The suspect waits for the ledger, Apple, the ledger again and Kafka. Between two of these waits the
            // suspect is at work.
            #expect(accusedWhenAsked.value == [false])
            let accusations = bench.store.content.accusations
            #expect(accusations.count >= 8 && accusations.allSatisfy { $0.offset == 1 })
            #expect(accusations.enumerated().allSatisfy { $1.isAtWork == !$0.isMultiple(of: 2) })
            #expect(accusations.last?.isAtWork == false)
            #expect(bench.metrics.registry.render().contains(#"receiptd_parkings_total{reason="crashed"} 1"#))
        }
    }

    @Test("if the database refuses to remove a decided, isolated row, the loop keeps the row, marked as not at work")
    func endRefused() async throws {
        try await with(ParkingBench()) { bench in
            let loop = bench.leaseLoop()
            bench.apple.answer(ParkingBench.genuine)
            bench.store.refuseEnds()
            bench.store.addSuspects(.isolated(ParkingBench.leased(ParkingBench.submission("suspect"), offset: 1)))
            loop.start()
            try await bench.changes.until("it is forgiven") {
                bench.ledger.decisions.count == 1 && bench.store.content.accusations.last?.isAtWork == false
            }
            await loop.stop()
            #expect(bench.store.content.accusations.last?.isAtWork == false)
            #expect(bench.ledger.decisions.count == 1 && bench.store.content.removed.isEmpty)
        }
    }

    @Test("of 100 concurrent requests to Apple, leased rows get 20 while fresh submissions are in flight, otherwise 50")
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

    @Test(
        "if Apple refuses an app's secret twice, the worker parks the submission; the next answer wakes the rows once")
    func blocked() async throws {
        try await with(ParkingBench(parkAfterSeconds: 30)) { bench in
            bench.apple.answer(.blocked(.sharedSecret))
            try await bench.work(on: bench.item(ParkingBench.submission("a")))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedSharedSecret])
            #expect(bench.apple.asked.count == 2)
            bench.apple.answer(ParkingBench.genuine)
            for offset in 2...4 {
                try await bench.work(on: bench.item(ParkingBench.submission("b\(offset)"), offset: Int64(offset)))
            }
            try await bench.changes.until("the app is woken") { !bench.store.content.woken.isEmpty }
            #expect(bench.store.content.woken == [ParkingBench.bundle])
        }
    }

    @Test(
        "Apple's first answer after refused credentials wakes the app's parked rows, at most once per minimum interval")
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

    @Test("after a worker's start or a partition's restart, the lease gate stays closed until lost decisions are known")
    func unknownLosses() {
        let leases = LeaseGate()
        let assignment = PartitionAssignment(
            maximumInFlight: 1, parkedLeases: leases, metrics: ReceiptdMetrics(version: "test"))
        #expect(!leases.isOpen)
        assignment.lossesAreKnown()
        #expect(leases.isOpen)
        assignment.restart("the database fell back")
        #expect(!leases.isOpen)
        // The losses of another partition of the same assignment are known.
        assignment.lossesAreKnown()
        #expect(!leases.isOpen)
        _ = assignment.takeRestartReason()
        assignment.lossesAreKnown()
        #expect(leases.isOpen)
    }
}
