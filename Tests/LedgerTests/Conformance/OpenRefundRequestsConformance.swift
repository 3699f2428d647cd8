import Foundation
import Fulfillment
import NamesAndTimes
import Postgres
import TestSupport
import Testing

@testable import Ledger

@Suite("Stores of refund requests in memory and in PostgreSQL")
struct OpenRefundRequestsConformance {
    struct Subject {
        let ledger: any PurchaseLedger
        let refunds: any NoticeLedger
        let requests: any OpenRefundRequests
        let claims: any PublishedClaims
        /// Enters a request as a notification does.
        let enter: (RefundRequest) async throws -> OutcomeEvent?
        /// Returns the refund requests whose events are in the outbox.
        let told: () async throws -> [OutcomeEvent]
        let acknowledge: () async throws -> Void
        /// Ends all leases, as if all workers had died long ago.
        let endLeases: () async throws -> Void

        static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

        func submit(
            _ id: String, original: String? = nil, _ kind: ProductKind = .consumable,
            _ verdict: JudgedPurchase.Verdict = .grant(payload: nil), offset: Int64
        ) async throws {
            let purchase = Sample.judged(Sample.purchase(id, original: original), kind, verdict)
            _ = try await ledger.record(Sample.decision([purchase], offset: offset))
        }

        func lease(waiting seconds: Double = 0) async throws -> [LeasedRefundRequest] {
            try await requests.leaseDueRequests(limit: 10, waitSeconds: seconds, at: Self.now)
        }
    }

    func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(
                Subject(
                    ledger: ledger, refunds: ledger, requests: ledger, claims: ledger,
                    enter: { ledger.enter($0, at: Sample.noon) },
                    told: { ledger.pendingEvents.filter { $0.kind == .refundRequested } },
                    acknowledge: { ledger.published(ledger.pendingEvents.map(\.eventID)) },
                    endLeases: ledger.endRefundRequestLeases))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(
                Subject(
                    ledger: ledger, refunds: PostgresNotices(pool: database.pool),
                    requests: PostgresRefundRequests(pool: database.pool), claims: PostgresClaims(pool: database.pool),
                    enter: { request in
                        try await database.pool.run { session in
                            try session.transaction {
                                try RefundRequestWrite.enter([request], at: Sample.noon, in: $0)
                            }
                        }.first
                    },
                    told: {
                        try await OutboxSweeper(pool: database.pool).leaseUnpublished(
                            topic: RefundRequestWrite.sourceTopic, partition: -1, limit: 10
                        ).map(\.event)
                    },
                    acknowledge: { try await database.run("DELETE FROM outbox") },
                    endLeases: {
                        try await database.run("UPDATE refund_requests SET due_at = now() WHERE due_at IS NOT NULL")
                    }))
            await ledger.close()
        }
    }

    static func request(
        _ id: String, original: String? = nil, bundle: BundleID = Sample.bundle, notification: String? = nil,
        hoursAgo: Int64 = 0
    ) -> RefundRequest {
        RefundRequest(
            id: Identifier(notification ?? "n-\(id)"), transactionID: Identifier(id),
            originalTransactionID: Identifier(original ?? id), bundleID: bundle, environment: .production,
            productID: "gold", kind: .consumable, reason: "UNINTENDED_PURCHASE",
            signedAt: Subject.now.adding(milliseconds: -hoursAgo * 3_600_000))
    }

    @Test(
        "if a refund request names a period's second id, its event names the player of the period's grant or hold",
        arguments: Implementation.allCases, [JudgedPurchase.Verdict.grant(payload: nil), .hold(.retiredProduct)])
    func otherID(implementation: Implementation, verdict: JudgedPurchase.Verdict) async throws {
        try await with(implementation) { subject in
            var purchase = Sample.purchase(
                "1001", original: "1000", product: "pass", expires: Sample.noon.adding(milliseconds: 86_400_000))
            purchase.webOrderLineItemID = "777"
            let judged = Sample.judged(purchase, .autoRenewableSubscription, verdict)
            _ = try await subject.ledger.record(Sample.decision([judged], offset: 1))
            var request = Self.request("2000")
            request.period =
                NotifiedTransaction(
                    purchase: purchase, kind: .autoRenewableSubscription, bundleID: Sample.bundle,
                    environment: .production
                ).period
            #expect(try await subject.enter(request)?.playerID == "player-1")
            let delivery = try #require(try await subject.lease().first).delivery
            switch delivery {
            case .granted: #expect(verdict == .grant(payload: nil))
            case .undelivered: #expect(verdict == .hold(.retiredProduct))
            case .revoked, .unknown: Issue.record("\(delivery)")
            }
        }
    }

    private static func report(
        _ id: String, _ consumed: Int32? = nil, consented: Bool? = nil, bundle: BundleID = Sample.bundle
    ) -> ConsumptionReport {
        ConsumptionReport(
            transactionID: Identifier(id), bundleID: bundle,
            content: ConsumptionReport.Content(consumedMilliPercent: consumed, isConsented: consented))
    }

    @Test(
        "a refund request is published once per notification, and only if the transaction is granted or held",
        arguments: Implementation.allCases)
    func entered(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.submit("1000", offset: 1)
            try await subject.submit("1001", .consumable, .hold(.retiredProduct), offset: 2)
            try await subject.submit("1002", original: "900", .nonConsumable, offset: 3)
            let event = try await subject.enter(Self.request("1000"))
            #expect(event?.kind == .refundRequested && event?.playerID == "player-1")
            #expect(try await subject.enter(Self.request("1000")) == nil)
            #expect(try await subject.enter(Self.request("1000", notification: "n-2")) != nil)
            #expect(try await subject.enter(Self.request("1001")) != nil)
            // The original transaction 900 was restored as 1002, which is granted.
            #expect(try await subject.enter(Self.request("900")) != nil)
            #expect(try await subject.enter(Self.request("4000")) == nil)
            #expect(
                try await subject.enter(Self.request("1001", bundle: "com.example.other", notification: "n-3")) == nil)
        }
    }

    @Test(
        "if a refund request precedes the grant, it is published and leased as soon as the transaction is granted",
        arguments: Implementation.allCases)
    func early(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for id in ["1000", "1001"] { #expect(try await subject.enter(Self.request(id)) == nil) }
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
            #expect(try await subject.told().isEmpty)
            try await subject.submit("1000", offset: 1)
            try await subject.endLeases()
            #expect(try await subject.lease().map(\.request.transactionID) == ["1000"])
            let told = try await subject.told()
            #expect(told.map(\.subject) == ["1000"] && told.map(\.playerID) == ["player-1"])
            try await subject.acknowledge()
            try await subject.endLeases()
            let again = try await subject.lease()
            #expect(
                again.map(\.request.transactionID) == ["1000"]
                    && again.first?.delivery == .granted(isAcknowledged: true))
            #expect(try await subject.told().isEmpty)
        }
    }

    @Test(
        "if no player submits a refund request's transaction by the deadline, the request ends as not in the ledger",
        arguments: Implementation.allCases)
    func never(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.enter(Self.request("1000", hoursAgo: 13))
            try await subject.endLeases()
            let leased = try #require(try await subject.lease().first)
            #expect(leased.delivery == .unknown)
            let decision = leased.decision(under: Catalog(version: 1, apps: []), at: Subject.now)
            #expect(decision == .end(.notInLedger))
            try await subject.requests.end(leased, as: .notInLedger, answer: nil)
            try await subject.submit("1000", offset: 1)
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
            #expect(try await subject.told().isEmpty)
        }
    }

    @Test(
        "a leased refund request says whether the transaction is granted, published to Kafka, undelivered or revoked",
        arguments: Implementation.allCases)
    func delivery(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.submit("1000", offset: 1)
            try await subject.submit("1001", .consumable, .hold(.retiredProduct), offset: 2)
            try await subject.submit("1002", offset: 3)
            for id in ["1000", "1001", "1002"] { _ = try await subject.enter(Self.request(id)) }
            func deliveries() async throws -> [Identifier: LeasedRefundRequest.Delivery] {
                try await subject.endLeases()
                return Dictionary(
                    uniqueKeysWithValues: try await subject.lease().map { ($0.request.transactionID, $0.delivery) })
            }
            #expect(
                try await deliveries() == [
                    "1000": .granted(isAcknowledged: false), "1001": .undelivered,
                    "1002": .granted(isAcknowledged: false),
                ])
            try await subject.acknowledge()
            let refund = RefundNotice(
                id: "r-1", change: .revoked(.refund, at: Sample.noon), signedAt: Sample.noon,
                transaction: NotifiedTransaction(
                    purchase: Sample.purchase("1002"), kind: .consumable, bundleID: Sample.bundle,
                    environment: .production))
            _ = try await subject.refunds.apply(
                [
                    ReceivedNotice(
                        StoreNotice(refund, type: "REFUND", id: "r-1"), topic: "app-store-notifications", partition: 0,
                        traceparent: nil,
                        decidedAt: Sample.noon)
                ], catalog: Catalog(version: 1, apps: []))
            #expect(
                try await deliveries() == [
                    "1000": .granted(isAcknowledged: true), "1001": .undelivered, "1002": .revoked,
                ])
        }
    }

    @Test(
        "a refund request waits for the game's report, and takes the latest one, even from before the request",
        arguments: Implementation.allCases)
    func reported(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for id in ["1000", "1001", "1002"] {
                try await subject.submit(id, offset: Int64(id.utf8.last ?? 0))
            }
            let early = try await subject.requests.enter([
                Self.report("1001", 1), Self.report("1001", 2), Self.report("1000", bundle: "com.example.other"),
            ])
            #expect(early.value == [.entered, .entered, .entered])
            for id in ["1000", "1001", "1002"] { _ = try await subject.enter(Self.request(id)) }
            let first = try await subject.lease(waiting: 3600)
            #expect(first.map(\.request.transactionID) == ["1001"])
            #expect(first.first?.report?.consumedMilliPercent == 2)
            #expect(try await subject.lease(waiting: 3600).isEmpty)
            _ = try await subject.requests.enter([Self.report("1000", 7)])
            let second = try await subject.lease(waiting: 3600)
            #expect(second.map(\.request.transactionID) == ["1000"])
            #expect(second.first?.report?.consumedMilliPercent == 7)
        }
    }

    @Test(
        "a postponed refund request is not due before the given time, and counts the tries",
        arguments: Implementation.allCases)
    func putOff(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.submit("1000", offset: 1)
            _ = try await subject.enter(Self.request("1000"))
            let first = try #require(try await subject.lease().first)
            #expect(first.tries == 1)
            try await subject.requests.putOff(first, seconds: 600, countsAsTry: true)
            #expect(try await subject.lease().isEmpty)
            // The first lease is over, so the first worker's results change nothing.
            try await subject.requests.end(first, as: .accepted, answer: nil)
            try await subject.requests.putOff(first, seconds: 0, countsAsTry: true)
            #expect(try await subject.lease().isEmpty)
            try await subject.endLeases()
            let second = try #require(try await subject.lease().first)
            #expect(second.tries == 2)
            try await subject.requests.putOff(second, seconds: 0, countsAsTry: false)
            #expect(try await subject.lease().map(\.tries) == [2])
        }
    }

    @Test(
        "an ended refund request is leased again only if the player consents later; an outdated lease ends no request",
        arguments: Implementation.allCases)
    func ended(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.submit("1000", offset: 1)
            _ = try await subject.enter(Self.request("1000"))
            _ = try await subject.requests.enter([Self.report("1000", consented: false)])
            let outdated = try #require(try await subject.lease().first)
            #expect(try await subject.lease().isEmpty)
            try await subject.requests.release(outdated)
            let leased = try #require(try await subject.lease().first)
            try await subject.requests.end(outdated, as: .accepted, answer: nil)
            try await subject.requests.end(leased, as: .notConsented, answer: nil)
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
            _ = try await subject.requests.enter([Self.report("1000", consented: true)])
            let last = try #require(try await subject.lease().first)
            #expect(last.report?.isConsented == true)
            let answer = ConsumptionAnswer(delivery: .delivered, providesSampleContent: false, consumedMilliPercent: 5)
            try await subject.requests.end(last, as: .accepted, answer: answer)
            _ = try await subject.requests.enter([Self.report("1000", 9)])
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
        }
    }
}
