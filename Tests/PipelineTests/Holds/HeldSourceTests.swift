import Fulfillment
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("The worker's tries of held purchases")
struct HeldSourceTests {
    private func hold(
        _ transaction: StoreTransactionID = "1000", product: ProductID = "gold", isDue: Bool = true,
        bundle: BundleID = ParkingBench.bundle, proof: Submission.Proof = .receipt(ParkingBench.receipt("a")),
        token: String? = nil, announced: AnnouncedTerms? = nil
    ) -> LeasedHold {
        let submission = Submission(
            submissionID: "s", playerID: "player-1", bundleID: bundle, proof: proof, appAccountToken: token)
        let position = ParkingBench.position(1)
        let purchase = StorePurchase(
            transactionID: transaction, originalTransactionID: transaction, productID: product,
            purchasedAt: position.timestamp)
        return LeasedHold(
            transactionID: transaction, originalTransactionID: transaction, productID: product,
            reason: .unknownProduct, waived: [], isReleased: isDue, isDue: isDue, submission: submission,
            identity: submission.identity(proof: position.content), position: position, traceparent: nil,
            evidence: GenuineReceipt(bundleID: bundle, environment: .production, purchases: [purchase]),
            dailyCount: nil, tries: 0, lease: 1, announced: announced)
    }

    @Test(
        "the worker asks Apple about a released hold of a transaction id, and keeps the hold if Apple knows no such id")
    func transactionID() async throws {
        try await with { bench, holds in
            let catalog = Catalog(version: 1, apps: [ParkingBench.serverApp])
            bench.catalog.update { $0 = catalog }
            let held = hold(proof: .transactionID("1000"), token: "t")
            bench.apple.answer(.refused(.unknownTransaction))
            try await bench.heldWorker.work(on: HeldInHand(held))
            #expect(holds.content.settled.isEmpty && holds.content.putBack.count == 1)
            let purchase = StorePurchase(
                transactionID: "1000", originalTransactionID: "1000", productID: "gold",
                purchasedAt: held.position.timestamp, appAccountToken: "t")
            bench.apple.answer(
                .genuine(
                    GenuineReceipt(bundleID: ParkingBench.bundle, environment: .production, purchases: [purchase])))
            try await bench.heldWorker.work(on: HeldInHand(held))
            guard case .granted? = holds.content.settled.first else {
                Issue.record("it is not granted")
                return
            }
            let credentials = try #require(ParkingBench.serverApp.serverAPI)
            #expect(
                bench.apple.requests.map(\.subject) == Array(repeating: .transaction("1000", credentials), count: 2))
        }
    }

    @Test("although a held purchase's JWS is fresh, the worker asks Apple, and rejects the purchase if refunded since")
    func freshTransaction() async throws {
        try await with { bench, holds in
            bench.catalog.update { $0 = Catalog(version: 1, apps: [ParkingBench.serverApp]) }
            let held = hold(proof: .signedTransaction("a.b.c"))
            var receipt = try #require(held.evidence)
            let content = ProofContent(
                bundleID: ParkingBench.bundle, environment: .production, purchases: receipt.purchases,
                signedAt: WallClock.now)
            bench.proofs.read(held.submission.proof, as: .read(content, .proven))
            receipt.purchases[0].cancelledAt = WallClock.now
            bench.apple.answer(.genuine(receipt))
            try await bench.heldWorker.work(on: HeldInHand(held))
            #expect(bench.apple.asked.count == 1)
            guard case .rejected(let event)? = holds.content.settled.first else { return #expect(Bool(false)) }
            #expect(event.reason == .cancelled)
        }
    }

    @Test(
        "before the worker grants a receipt's held consumable, it looks up the transaction, and rejects a refunded one")
    func refundedReceipt() async throws {
        try await with { bench, holds in
            var app = ParkingBench.serverApp
            app.announcements.checksRefunds = true
            app.products["gold"] = Product(id: "gold", kind: .consumable)
            bench.catalog.update { $0 = Catalog(version: 1, apps: [app]) }
            let held = hold(proof: .receipt(ParkingBench.receipt("a")))
            let purchase = StorePurchase(
                transactionID: "1000", originalTransactionID: "1000", productID: "gold",
                purchasedAt: WallClock.now.adding(milliseconds: -86_400_000))
            let receipt = GenuineReceipt(
                bundleID: ParkingBench.bundle, environment: .production, purchases: [purchase])
            bench.apple.answer(.genuine(receipt))
            // The purchase is held, so the ledger knows it.
            bench.ledger.know("1000")
            var refunded = purchase
            refunded.cancelledAt = WallClock.now
            bench.queries.register(
                NotifiedTransaction(
                    purchase: refunded, kind: .consumable, bundleID: ParkingBench.bundle, environment: .production))
            try await bench.heldWorker.work(on: HeldInHand(held))
            #expect(bench.queries.questions(.transaction) == [.transaction("1000")])
            guard case .rejected(let event)? = holds.content.settled.first else { return #expect(Bool(false)) }
            #expect(event.reason == .cancelled)
        }
    }

    private func with(_ body: (ParkingBench, ParkingBench.Holds) async throws -> Void) async throws {
        let bench = try ParkingBench()
        defer { bench.close() }
        try await body(bench, bench.holds)
    }

    @Test(
        "a purchase stays held after three failures of Apple, three refused credentials or three doubtful answers",
        arguments: [
            AppleAnswer.trouble(.init(.timeout)), .blocked(.sharedSecret), .refused(.malformed), ParkingBench.empty,
        ])
    func noVerdict(answer: AppleAnswer) async throws {
        try await with { bench, holds in
            bench.apple.answer(answer)
            for _ in 0..<Judge.triesInDoubt {
                try await bench.heldWorker.work(on: HeldInHand(hold()))
            }
            #expect(holds.content.putBack.count == Judge.triesInDoubt)
            #expect(holds.content.putBack.allSatisfy { $0 >= PipelineLimits.holdRetrySeconds })
            #expect(holds.content.settled.isEmpty)
            // Each try counts as one retry.
            #expect(bench.metrics.registry.render().contains("receiptd_retries_total \(Judge.triesInDoubt)\n"))
        }
    }

    @Test("if the database refuses a hold's settlement, the worker retries the hold after the minimum delay for holds")
    func refusedEnd() async throws {
        try await with { bench, holds in
            bench.apple.answer(ParkingBench.genuine)
            holds.refuseEnds()
            try await bench.heldWorker.work(on: HeldInHand(hold()))
            // The bench's retry delay is zero, so the delay here is the least delay of holds.
            #expect(holds.content.putBack == [PipelineLimits.holdRetrySeconds])
            #expect(holds.content.settled.isEmpty)
        }
    }

    @Test(
        "a grant or a rejection settles a hold; if the app left the catalog, the hold waits without a request to Apple")
    func verdict() async throws {
        try await with { bench, holds in
            bench.apple.answer(ParkingBench.genuine)
            try await bench.heldWorker.work(on: HeldInHand(hold()))
            guard case .granted? = holds.content.settled.first else { return #expect(Bool(false), "\(holds.content)") }
            bench.apple.answer(.refused(.accountNotFound))
            try await bench.heldWorker.work(on: HeldInHand(hold()))
            guard case .rejected(let event)? = holds.content.settled.last else { return #expect(Bool(false)) }
            #expect(event.reason == .accountNotFound)
            let asked = bench.apple.asked.count
            try await bench.heldWorker.work(on: HeldInHand(hold(bundle: "com.example.gone")))
            #expect(holds.content.putBack == [PipelineLimits.unknownAppRetrySeconds])
            #expect(bench.apple.asked.count == asked)
        }
    }

    @Test(
        "the worker settles an announced purchase's hold by the notification, or, with credentials, by Apple's answer")
    func announced() async throws {
        try await with { bench, holds in
            let terms = AnnouncedTerms(source: .notification, isRenewal: false)
            let held = hold(proof: .transactionID("1000"), announced: terms)
            try await bench.heldWorker.work(on: HeldInHand(held))
            guard case .granted(let grant)? = holds.content.settled.first else {
                Issue.record("it is not granted")
                return
            }
            #expect(String(decoding: grant.event.value, as: UTF8.self).contains(#""source":"notification""#))
            #expect(bench.apple.asked.count == 0)
            bench.catalog.update { $0 = Catalog(version: 1, apps: [ParkingBench.serverApp]) }
            bench.apple.answer(ParkingBench.genuine)
            try await bench.heldWorker.work(on: HeldInHand(held))
            #expect(bench.apple.asked.count == 1 && holds.content.settled.count == 2)
        }
    }

    @Test(
        "two due holds of one submission cost one request to Apple, and a hold of an unknown product costs no request")
    func due() async throws {
        try await with { bench, holds in
            bench.apple.answer(ParkingBench.genuine)
            holds.add(hold(), hold("1001"), hold("2000", product: "tomorrow's", isDue: false))
            let loop = bench.holdLoop()
            loop.start()
            try await bench.changes.until("both are settled") { holds.content.settled.count >= 2 }
            await loop.stop()
            #expect(holds.content.kept == [.unknownProduct])
            #expect(bench.apple.asked.count == 1)
            guard case .granted = holds.content.settled[0] else { return #expect(Bool(false)) }
            #expect(holds.content.settled[1] == .notTold)
            #expect(bench.parking.slots.leased == 0)
        }
    }

    @Test("if a hold may have killed workers, the worker tries it with no other row leased; after three deaths, never")
    func suspects() async throws {
        try await with { bench, holds in
            let beside = Shared<[Int]>([])
            let parked = bench.leaseLoop()
            bench.apple.answer(ParkingBench.genuine)
            bench.apple.onAsk { [slots = bench.parking.slots] request in
                guard request.receipt == ParkingBench.receipt("suspect") else { return }
                // The source of parked submissions asks for this permission before it leases due rows.
                let mayLease = slots.beginLeasing()
                if mayLease { slots.endLeasing() }
                beside.update { $0.append(slots.leased + (mayLease ? 100 : 0)) }
            }
            holds.addSuspects(
                .setAside(SetAsidePurchase(transactionID: "1000", bundleID: "b", source: .submission, deaths: 3)),
                .isolated(hold("2000", product: "tomorrow's", isDue: false)),
                .isolated(hold("1001", proof: .receipt(ParkingBench.receipt("suspect")))))
            holds.add(hold("1002"))
            bench.store.add(ParkingBench.leased(ParkingBench.submission("one"), offset: 2))
            let loop = bench.holdLoop()
            loop.start()
            parked.start()
            try await bench.changes.until("both sources are done") {
                holds.content.settled.count >= 2 && !bench.store.content.removed.isEmpty
            }
            await loop.stop()
            await parked.stop()
            #expect(beside.value == [1])
            // The worker does not try hold 2000, because the catalog lacks its product.
            #expect(holds.content.kept == [.unknownProduct])
            #expect(bench.metrics.registry.render().contains(#"receiptd_crashed_purchases_total{kind="held"} 1"#))
            #expect(bench.parking.slots.isLeasingIdle)
        }
    }

    @Test(
        "if a worker cannot store that a hold stays held, it stores that it survived the hold, and releases its leases")
    func keepFails() async throws {
        try await with { bench, holds in
            let source = HeldSource(
                worker: bench.heldWorker, failures: Failures(),
                logger: Logger(label: "holds") { _ in SwiftLogNoOpLogHandler() })
            holds.failNextKeeps(2)
            holds.addSuspects(.isolated(hold("2000", product: "tomorrow's", isDue: false)))
            guard case .nothing = await source.nextTurn() else {
                Issue.record("it is tried")
                return
            }
            #expect(holds.content.forgiven == ["2000"])
            holds.add(hold("1000"), hold("2001", product: "tomorrow's", isDue: false))
            await #expect(throws: (any Error).self) { try await source.leaseDue(limit: 10) }
            #expect(holds.content.released == 2 && holds.content.kept.isEmpty)
            #expect(bench.parking.slots.isLeasingIdle)
        }
    }

    @Test(
        "before a worker isolates a row, all leases must end; during the isolation no lease or other isolation begins")
    func isolation() {
        let slots = WorkSlots(maximumInFlight: 100, appleConcurrency: 100)
        slots.leasesBegan(1)
        #expect(!slots.beginIsolating(for: .holds))
        #expect(!slots.beginLeasing())
        slots.doNotIsolate(for: .holds)
        #expect(slots.beginLeasing())
        slots.endLeasing()
        #expect(!slots.beginIsolating(for: .holds))
        slots.leaseEnded()
        #expect(!slots.beginLeasing())
        #expect(slots.beginIsolating(for: .holds))
        #expect(!slots.isLeasingIdle && !slots.beginLeasing() && !slots.beginIsolating(for: .parked))
        slots.endIsolating()
        #expect(slots.isLeasingIdle && slots.beginLeasing())
        slots.endLeasing()
        slots.setLeasingPaused(true)
        #expect(!slots.beginIsolating(for: .holds))
    }
}
