import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Requests to the App Store Server API beside Apple's answer about a receipt")
struct FurtherQuestionTests {
    private static let hour: Int64 = 3_600_000
    private static let account: AppTransactionID = "70"

    private static var app: AppPolicy {
        var app = ParkingBench.serverApp
        app.announcements.checksRefunds = true
        app.products["gems"] = Product(id: "gems", kind: .consumable)
        return app
    }

    func with(_ body: (ParkingBench) async throws -> Void) async throws {
        let bench = try ParkingBench(parkAfterSeconds: 30)
        defer { bench.close() }
        let catalog = Catalog(version: 1, apps: [Self.app])
        bench.catalog.update { $0 = catalog }
        try await body(bench)
    }

    /// Returns a purchase that is two hours old.
    static func purchase(_ id: StoreTransactionID, _ product: ProductID = "gold") -> StorePurchase {
        StorePurchase(
            transactionID: id, originalTransactionID: id, productID: product,
            purchasedAt: WallClock.now.adding(milliseconds: -2 * hour), appTransactionID: account)
    }

    static func receipt(_ ids: StoreTransactionID...) -> AppleAnswer {
        .genuine(
            GenuineReceipt(
                bundleID: ParkingBench.bundle, environment: .production, purchases: ids.map { purchase($0) },
                createdAt: WallClock.now.adding(milliseconds: -hour)))
    }

    static func told(_ purchase: StorePurchase) -> NotifiedTransaction {
        NotifiedTransaction(
            purchase: purchase, kind: .consumable, bundleID: ParkingBench.bundle, environment: .production)
    }

    func verdicts(_ bench: ParkingBench) -> [StoreTransactionID: JudgedPurchase.Verdict] {
        let judged = bench.ledger.decisions.flatMap { decision -> [JudgedPurchase] in
            if case .each(let judged) = decision.verdict { judged } else { [] }
        }
        return Dictionary(judged.map { ($0.purchase.transactionID, $0.verdict) }, uniquingKeysWith: { $1 })
    }

    @Test(
        "the worker rejects a receipt's refunded consumable, and grants a consumable that the Server API does not know")
    func refunded() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1", "2", "3"))
            var refunded = Self.purchase("1")
            refunded.cancelledAt = WallClock.now
            bench.queries.register(Self.told(refunded), Self.told(Self.purchase("2")))
            try await bench.work(on: bench.item(ParkingBench.submission("r")))
            #expect(
                verdicts(bench) == ["1": .reject(.cancelled), "2": .grant(payload: nil), "3": .grant(payload: nil)])
            #expect(bench.queries.questions(.transaction).count == 3)
            #expect(bench.queries.asked.allSatisfy { $0.share == .submission && $0.environment == .production })
        }
    }

    @Test(
        "if the ledger has one of a receipt's transactions, the worker does not look it up at the App Store Server API")
    func known() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1", "2"))
            bench.ledger.know("1")
            bench.queries.register(Self.told(Self.purchase("2")))
            try await bench.work(on: bench.item(ParkingBench.submission("r")))
            #expect(bench.queries.questions(.transaction) == [.transaction("2")])
            #expect(verdicts(bench).count == 2)
        }
    }

    @Test("if the ledger kept Apple's evidence for a receipt, the worker decides without a look-up of the transactions")
    func recalled() async throws {
        try await with { bench in
            guard case .genuine(let receipt) = Self.receipt("1", "2") else { return }
            bench.ledger.recollect(.provenBefore(receipt))
            try await bench.work(on: bench.item(ParkingBench.submission("r")))
            #expect(bench.queries.asked.isEmpty && bench.ledger.decisions.count == 1)
        }
    }

    @Test("if one of seven look-ups of a receipt's transactions fails, the retry in memory repeats only this look-up")
    func retried() async throws {
        try await with { bench in
            let ids = (1...7).map { StoreTransactionID("\($0)") }
            bench.apple.answer(
                .genuine(
                    GenuineReceipt(
                        bundleID: ParkingBench.bundle, environment: .production,
                        purchases: ids.map { Self.purchase($0) })
                ))
            for id in ids { bench.queries.register(Self.told(Self.purchase(id))) }
            bench.queries.fail(.transaction, .trouble(.init(.timeout)))
            try await bench.work(on: bench.item(ParkingBench.submission("r")))
            #expect(verdicts(bench).count == 7)
            // The worker asked twice about one of the seven transactions.
            #expect(bench.queries.questions(.transaction).count == 8)
            #expect(bench.apple.asked.count == 2)
        }
    }

    @Test("a parked row keeps the finished look-ups, and the next try looks up only the remaining transactions")
    func parked() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1", "2", "3"))
            for id in ["1", "2", "3"] { bench.queries.register(Self.told(Self.purchase(StoreTransactionID(id)))) }
            bench.queries.fail(.transaction, .trouble(.init(.timeout)))
            let submission = ParkingBench.submission("r")
            try await bench.work(on: SubmissionInHand(parked: ParkingBench.leased(submission)))
            let putBack = try #require(bench.store.content.putBack.first)
            #expect(putBack.history.lookUps.told.count == 2 && bench.ledger.decisions.isEmpty)
            let again = ParkingBench.leased(submission, history: putBack.history)
            try await bench.work(on: SubmissionInHand(parked: again))
            #expect(verdicts(bench).count == 3)
            #expect(bench.queries.questions(.transaction).count == 4)
        }
    }

    @Test("if Apple refuses the API credentials, or an API answer is unproven, the submission is parked, not decided")
    func notAnswered() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            bench.queries.failAlways(.transaction, .blocked(.serverAPI))
            try await bench.work(on: bench.item(ParkingBench.submission("r")))
            #expect(bench.store.content.parked.map(\.reason) == [.blockedServerAPI])
            bench.queries.failAlways(.transaction, nil)
            var other = Self.told(Self.purchase("1"))
            other.environment = .sandbox
            bench.queries.register(other)
            bench.queries.fail(.transaction, .trouble(.init(.unproven)))
            let leased = ParkingBench.leased(ParkingBench.submission("r"))
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(bench.store.content.putBack.map(\.reason) == [.appleTrouble])
            #expect(bench.ledger.decisions.isEmpty)
        }
    }

    private func wanting(_ product: ProductID) -> Submission {
        Submission(
            submissionID: "s", playerID: "player-1", bundleID: ParkingBench.bundle,
            proof: .receipt(ParkingBench.receipt("r")), productID: product)
    }

    @Test(
        "if a receipt lacks the product, the worker grants the history's recent purchase of the product, but no old one"
    )
    func finishedEarly() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            bench.ledger.know("1")
            var old = Self.purchase("10", "gems")
            old.purchasedAt = WallClock.now.adding(milliseconds: -3 * Self.hour)
            var new = Self.purchase("11", "gems")
            new.purchasedAt = WallClock.now.adding(milliseconds: -Self.hour)
            bench.queries.register(Self.told(Self.purchase("1")), Self.told(old), Self.told(new))
            try await bench.work(on: bench.item(wanting("gems")))
            #expect(verdicts(bench) == ["1": .grant(payload: nil), "11": .grant(payload: nil)])
            #expect(bench.queries.asked.count == 1)
            // The kept evidence leaves out purchase 11, because the same receipt may lead to another purchase tomorrow.
            let evidence = bench.ledger.decisions.first?.evidence
            #expect(evidence.map { $0.purchases.map(\.transactionID) } == ["1"])
        }
    }

    @Test("if Apple's history shows a purchase made over an hour after the receipt, the worker does not grant it")
    func boughtLater() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            bench.ledger.know("1")
            var later = Self.purchase("11", "gems")
            later.purchasedAt = WallClock.now.adding(milliseconds: 60_000)
            bench.queries.register(Self.told(Self.purchase("1")), Self.told(later))
            try await bench.work(on: bench.item(wanting("gems")))
            guard case .whole(.productMismatch, _) = try #require(bench.ledger.decisions.first).verdict else {
                Issue.record("it is granted")
                return
            }
        }
    }

    @Test("if the account's history is too long for one try, the submission stays parked with the detail long_history")
    func longHistory() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            bench.queries.register(Self.told(Self.purchase("1")))
            for number in 0..<(20 * PipelineLimits.historyPages + 1) {
                var other = Self.purchase(StoreTransactionID("2\(number)"), "gems")
                // Family-shared purchases cannot serve the submission, so the worker reads page after page.
                other.ownership = .familyShared
                other.purchasedAt = WallClock.now.adding(milliseconds: -Self.hour)
                bench.queries.register(Self.told(other))
            }
            try await bench.work(on: SubmissionInHand(parked: ParkingBench.leased(wanting("gems"))))
            #expect(bench.ledger.decisions.isEmpty && bench.store.content.putBack.map(\.detail) == ["long_history"])
        }
    }

    @Test("if receipt and history lack the product, or no history exists, the worker rejects with product_mismatch")
    func missing() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            for offset in Int64(1)...2 {
                if offset == 2 { bench.queries.register(Self.told(Self.purchase("1"))) }
                try await bench.work(on: bench.item(wanting("gems"), offset: offset))
            }
            let mismatches = bench.ledger.decisions.filter {
                if case .whole(.productMismatch, _) = $0.verdict { true } else { false }
            }
            #expect(mismatches.count == 2 && bench.queries.questions(.transactionHistory).count == 2)
        }
    }

    @Test(
        "if the worker rejects as product_mismatch, it still records the refunds that the receipt and the history show")
    func revoked() async throws {
        try await with { bench in
            func takenBack(_ id: StoreTransactionID, _ product: ProductID) -> StorePurchase {
                var purchase = Self.purchase(id, product)
                purchase.cancelledAt = WallClock.now
                return purchase
            }
            bench.apple.answer(
                .genuine(
                    GenuineReceipt(
                        bundleID: ParkingBench.bundle, environment: .production,
                        purchases: [takenBack("1", "gold"), Self.purchase("2")],
                        createdAt: WallClock.now.adding(milliseconds: -Self.hour))))
            var shared = takenBack("11", "gems")
            shared.ownership = .familyShared
            shared.purchasedAt = WallClock.now.adding(milliseconds: -Self.hour)
            bench.queries.register(Self.told(Self.purchase("2")), Self.told(shared))
            try await bench.work(on: bench.item(wanting("gems")))
            let decision = try #require(bench.ledger.decisions.first)
            guard case .whole(.productMismatch, _) = decision.verdict else {
                throw Unexpected(verdict: decision.verdict)
            }
            #expect(Set(decision.shown.map(\.purchase.transactionID)) == ["1", "11"])
        }
    }

    private struct Unexpected: Error {
        let verdict: Verdict
    }

    @Test("if a receipt is of another app, the worker does not record the refunds that the receipt shows")
    func foreign() async throws {
        try await with { bench in
            var purchase = Self.purchase("1")
            purchase.cancelledAt = WallClock.now
            bench.apple.answer(
                .genuine(GenuineReceipt(bundleID: "com.example.other", environment: .production, purchases: [purchase]))
            )
            try await bench.work(on: bench.item(ParkingBench.submission("r")))
            let decision = try #require(bench.ledger.decisions.first)
            #expect(decision.verdict == .whole(.foreignApp, [purchase]) && decision.shown.isEmpty)
        }
    }

    @Test("if Apple fails to return the account's history, the worker puts the submission back without a verdict")
    func troubledHistory() async throws {
        try await with { bench in
            bench.apple.answer(Self.receipt("1"))
            bench.queries.fail(.transactionHistory, .trouble(.init(.serverError)))
            let leased = ParkingBench.leased(wanting("gems"))
            try await bench.work(on: SubmissionInHand(parked: leased))
            #expect(bench.store.content.putBack.map(\.reason) == [.appleTrouble] && bench.ledger.decisions.isEmpty)
        }
    }
}
