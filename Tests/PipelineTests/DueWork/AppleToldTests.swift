import Fulfillment
import Logging
import NamesAndTimes
import Operations
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Reports of finished deliveries, and answers to refund requests, that the worker sends to Apple")
struct AppleToldTests {
    private static let bundle = ParkingBench.bundle
    private static let credentials = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "KEY")

    private static func catalog(finishes: Bool = true, answers: Bool = true) -> Catalog {
        var app = AppPolicy(bundleID: bundle)
        app.serverAPI = credentials
        app.announcements.finishesGrants = finishes
        app.announcements.consumption = answers ? ConsumptionPolicy() : nil
        return Catalog(version: 1, apps: [app])
    }

    private static func grant(
        _ id: StoreTransactionID, isAcknowledged: Bool = true, in ledger: InMemoryLedger,
        _ queries: InMemoryStoreQueries
    ) async throws {
        let purchase = StorePurchase(
            transactionID: id, originalTransactionID: id, productID: "gold",
            purchasedAt: ParkingBench.position(1).timestamp)
        queries.register(
            NotifiedTransaction(purchase: purchase, kind: .consumable, bundleID: bundle, environment: .production))
        let outcome = try await ledger.settle(
            PendingDecision(
                submission: Submission(
                    submissionID: "s", playerID: "player-1", bundleID: bundle,
                    proof: .receipt(ParkingBench.receipt("a"))),
                position: ParkingBench.position(Int64(id.text) ?? 1), proof: Digest256(hashing: Array(id.text.utf8)),
                verdict: .each([JudgedPurchase(purchase: purchase, kind: .consumable, verdict: .grant(payload: nil))]),
                environment: .production, evidence: nil, decidedAt: ParkingBench.position(1).timestamp,
                catalogVersion: 1, traceparent: nil, finishesGrants: true))
        if isAcknowledged, case .events(let events) = outcome.value { ledger.published(events.map(\.eventID)) }
    }

    private func finishes(
        _ ledger: InMemoryLedger, _ queries: InMemoryStoreQueries, _ catalog: Catalog = catalog(),
        _ metrics: ReceiptdMetrics = ReceiptdMetrics(version: "test")
    ) -> FinishSource {
        FinishSource(
            store: ledger, queries: queries, catalog: { catalog }, metrics: metrics,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func requests(
        _ ledger: InMemoryLedger, _ queries: InMemoryStoreQueries, _ catalog: Catalog = catalog(),
        _ metrics: ReceiptdMetrics = ReceiptdMetrics(version: "test")
    ) -> RefundRequestSource {
        RefundRequestSource(
            store: ledger, queries: queries, catalog: { catalog }, waitSeconds: 0, metrics: metrics,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("the worker repeats its report of a finished delivery, as background traffic, until Apple accepts the report")
    func finished() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        try await Self.grant("1000", in: ledger, queries)
        queries.fail(.finish, .trouble(.init(.timeout)), .notFound, .blocked(.serverAPI))
        let metrics = ReceiptdMetrics(version: "test")
        var source = finishes(ledger, queries, Self.catalog(), metrics)
        source.retry = RetryDelay(initialSeconds: 8, maximumSeconds: 12)
        for _ in 0..<4 {
            let leased = try await source.leaseDue(limit: 5).items
            #expect(leased.count == 1)
            for finish in leased { try await source.work(on: finish) }
            ledger.endFinishLeases()
        }
        // A wrong key blocks the third try. Its row waits for the end of the lease, without a delay.
        let delays = ledger.finishDelays
        try #require(delays.count == 2)
        for (delay, longest) in zip(delays, [8.0, 12]) { #expect((0.01..<longest).contains(delay)) }
        #expect(ledger.finishResults == ["1000": .finished])
        #expect(try await source.leaseDue(limit: 5).items.isEmpty)
        #expect(queries.asked.map(\.question) == Array(repeating: .finish("1000"), count: 4))
        #expect(queries.asked.allSatisfy { $0.share == .background && $0.environment == .production })
        let text = metrics.registry.render()
        #expect(text.contains(#"receiptd_finishes_total{result="finished"} 1"#))
        #expect(text.contains(#"receiptd_finishes_total{result="retried"} 3"#))
    }

    @Test("the worker gives up a delivery report that Apple refuses, that is too old, or that the catalog switches off")
    func given() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        for id: StoreTransactionID in ["1000", "1001", "1002"] { try await Self.grant(id, in: ledger, queries) }
        let leased = try await ledger.leaseDueFinishes(limit: 5)
        queries.fail(.finish, .refused(code: 4_000_006))
        try await finishes(ledger, queries).work(on: leased[0])
        try await finishes(ledger, queries, Self.catalog(finishes: false)).work(on: leased[1])
        ledger.endFinishLeases()
        ledger.ageFinishes()
        for finish in try await ledger.leaseDueFinishes(limit: 5) {
            try await finishes(ledger, queries).work(on: finish)
        }
        #expect(ledger.finishResults == ["1000": .refused, "1001": .notConfigured, "1002": .givenUp])
        #expect(queries.asked.count == 1)
    }

    @Test("if Apple fails, the worker resends the answer to a refund request; if Apple refuses it, the worker does not")
    func answered() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        let asking = ["1000", "1001"].map { Self.request($0) }
        for request in asking {
            try await Self.grant(request.transactionID, in: ledger, queries)
            ledger.enter(request, at: WallClock.now)
        }
        queries.fail(.consumption, .trouble(.init(.status)), .refused(code: 4_000_047))
        let metrics = ReceiptdMetrics(version: "test")
        let source = requests(ledger, queries, Self.catalog(), metrics)
        for _ in 0..<2 {
            for one in try await source.leaseDue(limit: 5).items { try await source.work(on: one) }
            ledger.endRefundRequestLeases()
        }
        let answer = ConsumptionAnswer(delivery: .delivered, providesSampleContent: false)
        #expect(ledger.ending(of: "n-1000")?.result == .accepted && ledger.ending(of: "n-1000")?.answer == answer)
        #expect(ledger.ending(of: "n-1001")?.result == .refused)
        #expect(
            queries.asked.map(\.question) == [
                .consumption("1000", answer), .consumption("1001", answer), .consumption("1000", answer),
            ])
        #expect(queries.asked.allSatisfy { $0.share == .submission && $0.environment == .production })
        #expect(queries.asked.map(\.notAfter) == [0, 1, 0].map { asking[$0].answerBy })
        let text = metrics.registry.render()
        for result in ["accepted", "refused", "retried"] {
            #expect(text.contains(#"receiptd_consumption_answers_total{result="\#(result)"} 1"#), "\(result)")
        }
    }

    @Test(
        "the worker resends a refund answer after a delay or Retry-After; if Apple refuses the key, at the lease's end")
    func retried() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        try await Self.grant("1000", in: ledger, queries)
        ledger.enter(Self.request("1000"), at: WallClock.now)
        let held = AppleAnswer.Trouble(.rateLimited, retryNotBefore: WallClock.now.adding(milliseconds: 100_000))
        queries.fail(
            .consumption, .trouble(.init(.serverError)), .trouble(held), .blocked(.serverAPI), .blocked(.serverAPI))
        var source = requests(ledger, queries)
        source.retry = RetryDelay(initialSeconds: 8, maximumSeconds: 12)
        // If a try takes too long, the loop gives up the try, and postpones the row by the retry settings too.
        for one in try await source.leaseDue(limit: 5).items { try await source.putOff(one) }
        ledger.endRefundRequestLeases()
        for tries in 2...6 {
            let leased = try await source.leaseDue(limit: 5).items
            #expect(leased.map(\.tries) == [tries])
            for one in leased { try await source.work(on: one) }
            ledger.endRefundRequestLeases()
        }
        #expect(ledger.ending(of: "n-1000")?.result == .accepted)
        let delays = ledger.refundRequestDelays
        try #require(delays.count == 3)
        #expect((0.01..<8).contains(delays[0]) && (0.01..<12).contains(delays[1]) && (90...100).contains(delays[2]))
    }

    @Test("a refund request waits until Kafka has acknowledged the grant's event, and the wait does not count as a try")
    func unacknowledged() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        try await Self.grant("1000", isAcknowledged: false, in: ledger, queries)
        ledger.enter(Self.request("1000"), at: WallClock.now)
        let source = requests(ledger, queries)
        for _ in 0..<2 {
            let leased = try await source.leaseDue(limit: 5).items
            #expect(leased.map(\.tries) == [1])
            for one in leased { try await source.work(on: one) }
            ledger.endRefundRequestLeases()
        }
        let delays = ledger.refundRequestDelays
        #expect(delays.count == 2 && delays.allSatisfy { (1.5..<2.5).contains($0) })
        #expect(queries.asked.isEmpty)
        ledger.published(ledger.pendingEvents.map(\.eventID))
        for one in try await source.leaseDue(limit: 5).items { try await source.work(on: one) }
        #expect(ledger.ending(of: "n-1000")?.answer?.delivery == .delivered)
    }

    @Test("the worker answers no refund request after Apple's deadline, or if the catalog turns the app's answers off")
    func silent() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        try await Self.grant("1000", in: ledger, queries)
        ledger.enter(Self.request("1000", hoursAgo: 13), at: WallClock.now)
        for one in try await ledger.leaseDueRequests(limit: 5, waitSeconds: 0, at: WallClock.now) {
            try await requests(ledger, queries).work(on: one)
        }
        #expect(ledger.ending(of: "n-1000")?.result == .tooLate)
        try await Self.grant("1001", in: ledger, queries)
        ledger.enter(Self.request("1001"), at: WallClock.now)
        for one in try await ledger.leaseDueRequests(limit: 5, waitSeconds: 0, at: WallClock.now) {
            try await requests(ledger, queries, Self.catalog(answers: false)).work(on: one)
        }
        #expect(ledger.ending(of: "n-1001")?.result == .notConfigured)
        #expect(queries.asked.isEmpty)
    }

    @Test("if the worker cannot send a refund answer before Apple's deadline, it records the answer as too late")
    func waited() async throws {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        try await Self.grant("1000", in: ledger, queries)
        let request = Self.request("1000")
        ledger.enter(request, at: WallClock.now)
        queries.fail(.consumption, .trouble(.init(.timeout, wasAsked: false)))
        let isAsked = Atomic(false)
        var source = requests(ledger, queries)
        source.now = {
            let isLate = isAsked.exchange(true, ordering: .relaxed)
            return request.answerBy.adding(milliseconds: isLate ? 0 : -1)
        }
        for one in try await ledger.leaseDueRequests(limit: 5, waitSeconds: 0, at: WallClock.now) {
            try await source.work(on: one)
        }
        #expect(queries.asked.count == 1)
        #expect(ledger.ending(of: "n-1000")?.result == .tooLate)
    }

    private static func request(_ id: StoreTransactionID, hoursAgo: Int64 = 0) -> RefundRequest {
        request(id, signedAt: WallClock.now.adding(milliseconds: -hoursAgo * 3_600_000))
    }

    private static func request(_ id: StoreTransactionID, signedAt: Timestamp) -> RefundRequest {
        RefundRequest(
            id: Identifier("n-\(id)"), transactionID: id, originalTransactionID: id, bundleID: bundle,
            environment: .production, productID: "gold", reason: nil, signedAt: signedAt)
    }
}
