import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

@Suite("Further requests to Apple about held purchases")
struct HeldQuestionTests {
    private static let hour: Int64 = 3_600_000
    private static let proof = Submission.Proof.receipt(ParkingBench.receipt("a"))

    private static var app: AppPolicy {
        var app = ParkingBench.serverApp
        app.announcements.checksRefunds = true
        app.products["gems"] = Product(id: "gems", kind: .consumable)
        app.products["plan"] = Product(id: "plan", kind: .autoRenewableSubscription)
        return app
    }

    /// Returns a purchase that is an hour and a half old.
    private static func purchase(_ id: StoreTransactionID, _ product: ProductID = "gold") -> StorePurchase {
        StorePurchase(
            transactionID: id, originalTransactionID: id, productID: product,
            purchasedAt: WallClock.now.adding(milliseconds: -hour - hour / 2), appTransactionID: "70")
    }

    private static func answer(_ purchases: [StorePurchase]) -> AppleAnswer {
        .genuine(
            GenuineReceipt(
                bundleID: ParkingBench.bundle, environment: .production, purchases: purchases,
                createdAt: WallClock.now.adding(milliseconds: -hour)))
    }

    private static func told(_ purchase: StorePurchase) -> NotifiedTransaction {
        NotifiedTransaction(
            purchase: purchase, kind: .consumable, bundleID: ParkingBench.bundle, environment: .production)
    }

    /// Works on a released hold of `purchase`.
    /// - Parameter wanted: the submission's product; nil if the submission names no product.
    private func work(
        on purchase: StorePurchase, _ bench: ParkingBench, wanted: ProductID? = nil, waived: Set<Reason> = []
    ) async throws {
        let submission = Submission(
            submissionID: "s", playerID: "player-1", bundleID: ParkingBench.bundle, proof: Self.proof,
            productID: wanted)
        let position = ParkingBench.position(1)
        let hold = LeasedHold(
            transactionID: purchase.transactionID, originalTransactionID: purchase.transactionID,
            productID: purchase.productID, reason: .unknownProduct, waived: waived, isReleased: true, isDue: true,
            submission: submission, identity: submission.identity(proof: position.content), position: position,
            traceparent: nil, evidence: nil, dailyCount: nil, tries: 0, lease: 1)
        try await bench.heldWorker.work(on: HeldInHand(hold))
    }

    private func with(
        _ app: AppPolicy = HeldQuestionTests.app, _ body: (ParkingBench) async throws -> Void
    ) async throws {
        let bench = try ParkingBench()
        defer { bench.close() }
        let catalog = Catalog(version: 1, apps: [app])
        bench.catalog.update { $0 = catalog }
        try await body(bench)
    }

    private func expectGrant(_ bench: ParkingBench, _ location: SourceLocation = #_sourceLocation) {
        guard case .granted? = bench.holds.content.settled.first else {
            Issue.record("it is not granted: \(bench.holds.content)", sourceLocation: location)
            return
        }
    }

    @Test("when the worker tries a held purchase again, it looks up only this purchase, however many the receipt lists")
    func manyConsumables() async throws {
        try await with { bench in
            let others = (1...PipelineLimits.lookUpsOfOneTry).map { Self.purchase(StoreTransactionID("\($0 + 1_000)")) }
            let held = Self.purchase("1000")
            bench.apple.answer(Self.answer(others + [held]))
            bench.queries.register(Self.told(held))
            try await work(on: held, bench)
            #expect(bench.queries.questions(.transaction) == [.transaction("1000")])
            expectGrant(bench)
        }
    }

    @Test("when the worker tries a held purchase again, it does not ask Apple for another purchase's grace period")
    func otherGrace() async throws {
        try await with { bench in
            let held = Self.purchase("1000")
            var period = Self.purchase("1001", "plan")
            period.expiresAt = ParkingBench.position(1).timestamp.adding(milliseconds: -Self.hour)
            bench.apple.answer(Self.answer([period, held]))
            bench.queries.register(Self.told(held))
            bench.queries.failAlways(.subscriptionStatuses, .trouble(.init(.timeout)))
            try await work(on: held, bench)
            #expect(bench.queries.questions(.subscriptionStatuses).isEmpty)
            expectGrant(bench)
        }
    }

    @Test("if Apple's answer omits a held purchase and another purchase, the worker looks up only the held purchase")
    func leftOut() async throws {
        try await with { bench in
            let held = Self.purchase("1000")
            let content = ProofContent(
                bundleID: ParkingBench.bundle, environment: .production, purchases: [held, Self.purchase("1001")],
                signedAt: WallClock.now)
            bench.proofs.read(Self.proof, as: .read(content, .proven))
            bench.apple.answer(Self.answer([]))
            bench.queries.register(Self.told(held))
            try await work(on: held, bench)
            #expect(bench.queries.questions(.transaction) == [.transaction("1000")])
            expectGrant(bench)
        }
    }

    @Test("if Apple's answer has a held purchase, the worker grants it even if the submission named another product")
    func listed() async throws {
        var withoutAPI = Self.app
        withoutAPI.serverAPI = nil
        for app in [Self.app, withoutAPI] {
            try await with(app) { bench in
                let held = Self.purchase("1000")
                bench.apple.answer(Self.answer([held]))
                bench.queries.register(Self.told(held))
                try await work(on: held, bench, wanted: "gems")
                expectGrant(bench)
            }
        }
    }

    @Test("if receipt and transaction history lack a held purchase, it stays held; without a history, a worker retries")
    func missing() async throws {
        let (held, newest) = (Self.purchase("2000", "gems"), Self.purchase("1000"))
        var withoutAPI = Self.app
        withoutAPI.serverAPI = nil
        for app in [Self.app, withoutAPI] {
            try await with(app) { bench in
                bench.apple.answer(Self.answer([newest]))
                bench.queries.register(Self.told(newest))
                try await work(on: held, bench, wanted: "gems")
                #expect(bench.holds.content.settled == [.notTold])
            }
        }
        try await with { bench in
            bench.apple.answer(Self.answer([newest]))
            bench.queries.fail(.transactionHistory, .notFound)
            try await work(on: held, bench, wanted: "gems")
            #expect(bench.holds.content.settled.isEmpty && bench.holds.content.putBack.count == 1)
        }
    }

    @Test("if a held purchase predates the catalog's cutover, it stays held, unless an operator waived this reason")
    func laterCutover() async throws {
        var app = Self.app
        app.cutover = WallClock.now
        for waived: Set<Reason> in [[], [.beforeCutover]] {
            try await with(app) { bench in
                let (held, newest) = (Self.purchase("2000", "gems"), Self.purchase("1000"))
                bench.apple.answer(Self.answer([newest]))
                bench.queries.register(Self.told(newest), Self.told(held))
                try await work(on: held, bench, wanted: "gems", waived: waived)
                if waived.isEmpty {
                    #expect(bench.holds.content.settled == [.held(.beforeCutover)])
                } else {
                    expectGrant(bench)
                }
            }
        }
    }
}
