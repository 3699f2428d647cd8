import Encodings
import Fulfillment
import NamesAndTimes
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Requests to Apple about a subscription")
struct SubscriptionQuestionTests {
    private static let bundle: BundleID = "com.example.game"
    private static let day: Int64 = 86_400_000
    private static let start = Timestamp(milliseconds: 1_795_176_000_000)

    /// Makes a verifier that gives the same answer to every question.
    private static func verifier(_ answer: AppleAnswer) -> ScriptedVerifier {
        ScriptedVerifier(unscripted: { _ in answer })
    }

    private static func app(hasServerAPI: Bool, isLate: Bool = false) -> AppPolicy {
        var app = AppPolicy(bundleID: bundle)
        if hasServerAPI {
            app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "s")
        } else {
            app.announcements.renewals = .follow
            app.sharedSecretSetting = "SECRET"
        }
        var product = Product(id: "monthly", kind: .autoRenewableSubscription)
        product.grantsLatePeriods = isLate
        app.products["monthly"] = product
        return app
    }

    private static func period(_ id: String, from day: Int64) -> StorePurchase {
        var purchase = StorePurchase(
            transactionID: Identifier(id), originalTransactionID: "1000", productID: "monthly", quantity: 5,
            purchasedAt: start.adding(milliseconds: day * Self.day),
            expiresAt: start.adding(milliseconds: (day + 30) * Self.day))
        purchase.type = .known(.autoRenewableSubscription)
        return purchase
    }

    private static func told(_ id: String, from day: Int64, at toldDay: Int64) -> NotifiedTransaction {
        var transaction = NotifiedTransaction(
            purchase: period(id, from: day), kind: .autoRenewableSubscription, bundleID: bundle,
            environment: .production)
        transaction.signedAt = start.adding(milliseconds: toldDay * Self.day)
        transaction.subscriptionGroupID = "20"
        return transaction
    }

    private static func status(
        _ id: String, from day: Int64, _ state: SubscriptionState, at toldDay: Int64
    ) -> SubscriptionStatus {
        SubscriptionStatus(
            subscriptionGroupID: "20", state: state, transaction: told(id, from: day, at: toldDay),
            renewal: RenewalInfo(
                originalTransactionID: "1000", renewalProductID: "monthly", willRenew: true, environment: .production,
                signedAt: start.adding(milliseconds: toldDay * Self.day)))
    }

    /// Returns a lease of the subscription in its first period.
    private static func leased(receipt: String? = nil) -> LeasedSubscription {
        var fact = SubscriptionFact(
            originalTransactionID: "1000", bundleID: bundle, environment: .production, productID: "monthly",
            state: .active, toldAt: start)
        fact.periodBeganAt = start
        fact.expiresAt = start.adding(milliseconds: 30 * day)
        return LeasedSubscription(Subscription(fact, player: "p"), receipt: receipt, lease: 1)
    }

    private func ask(
        _ app: AppPolicy, _ leased: LeasedSubscription, _ receipts: ScriptedVerifier = verifier(.blocked(.request)),
        _ queries: InMemoryStoreQueries = InMemoryStoreQueries()
    ) async -> SubscriptionQuestion.Answer {
        await SubscriptionQuestion(leased, app, verifier: receipts, queries: queries)
            .ask(now: { Self.start.adding(milliseconds: 31 * Self.day) })
    }

    private func found(_ answer: SubscriptionQuestion.Answer) throws -> SubscriptionFindings {
        guard case .found(let findings) = answer else { throw Unexpected() }
        return findings
    }

    private struct Unexpected: Error {}

    @Test(
        "with API credentials the worker asks Apple only for a subscription's statuses, and finds the next period there"
    )
    func statuses() async throws {
        let queries = InMemoryStoreQueries()
        queries.register([Self.status("1001", from: 30, .active, at: 31)], of: "1000")
        let findings = try found(
            await ask(Self.app(hasServerAPI: true), Self.leased(), Self.verifier(.blocked(.request)), queries))
        #expect(findings.facts.map(\.state) == [.active] && findings.facts.first?.willRenew == true)
        #expect(findings.periods.map(\.purchase.transactionID) == ["1001"])
        let period = try #require(findings.periods.first)
        #expect(period.purchase.quantity == 1 && period.source == .renewal && period.isRenewal)
        #expect(period.submissionID == "apple-1001")
        #expect(queries.asked.map(\.question.endpoint) == [.subscriptionStatuses])
        #expect(queries.asked.first?.share == .subscriptions)
    }

    @Test(
        "if a period was missed, the worker reads the history, and reports late periods only if the product grants them",
        arguments: [true, false])
    func missed(isLate: Bool) async throws {
        let queries = InMemoryStoreQueries()
        queries.register([Self.status("1002", from: 60, .active, at: 62)], of: "1000")
        queries.register(
            Self.told("1000", from: 0, at: 62), Self.told("1001", from: 30, at: 62),
            Self.told("1002", from: 60, at: 62))
        let app = Self.app(hasServerAPI: true, isLate: isLate)
        let findings = try found(await ask(app, Self.leased(), Self.verifier(.blocked(.request)), queries))
        #expect(queries.asked.map(\.question.endpoint) == [.subscriptionStatuses, .transactionHistory])
        let told = Set(findings.periods.map(\.purchase.transactionID))
        #expect(told == (isLate ? ["1000", "1001", "1002"] : ["1002"]))
    }

    @Test(
        "if a subscription's plan changed, the worker reads the history only if the product grants late periods",
        arguments: [true, false])
    func changedPlan(isLate: Bool) async throws {
        let queries = InMemoryStoreQueries()
        queries.register([Self.status("1002", from: 20, .active, at: 22)], of: "1000")
        queries.register(
            Self.told("1000", from: 0, at: 22), Self.told("1001", from: 10, at: 22), Self.told("1002", from: 20, at: 22)
        )
        let app = Self.app(hasServerAPI: true, isLate: isLate)
        let findings = try found(await ask(app, Self.leased(), Self.verifier(.blocked(.request)), queries))
        #expect(
            queries.asked.map(\.question.endpoint)
                == (isLate ? [.subscriptionStatuses, .transactionHistory] : [.subscriptionStatuses]))
        #expect((findings.readUntil == .end) == isLate)
    }

    @Test("until a subscription's history has been read, each check searches the history for a period missed earlier")
    func missedBefore() async throws {
        let queries = InMemoryStoreQueries()
        queries.register([Self.status("1002", from: 60, .active, at: 62)], of: "1000")
        queries.register(
            Self.told("1000", from: 0, at: 62), Self.told("1001", from: 30, at: 62), Self.told("1002", from: 60, at: 62)
        )
        let app = Self.app(hasServerAPI: true, isLate: true)
        var fact = try #require(SubscriptionFact(Self.status("1000", from: 0, .active, at: 0)))
        var subscription = Subscription(fact, player: "p")
        fact = try #require(SubscriptionFact(Self.status("1002", from: 60, .active, at: 61)))
        _ = subscription.hear(fact, app.missedPeriodSearch)
        let leased = LeasedSubscription(subscription, receipt: nil, lease: 1)
        queries.fail(.transactionHistory, .notFound)
        let unread = try found(await ask(app, leased, Self.verifier(.blocked(.request)), queries))
        #expect(unread.readUntil == .nowhere && unread.facts.count == 1, "the statuses count")
        let findings = try found(await ask(app, leased, Self.verifier(.blocked(.request)), queries))
        #expect(findings.readUntil == .end)
        #expect(findings.periods.map(\.purchase.transactionID).contains("1001"))
    }

    @Test("if a subscription's history is too long for one try, later tries read the history to the end")
    func longHistory() async throws {
        let queries = InMemoryStoreQueries()
        queries.register([Self.status("1002", from: 60, .active, at: 62)], of: "1000")
        let count = 2 * 20 * PipelineLimits.missedPeriodPages + 1
        var all: Set<StoreTransactionID> = []
        for number in 0..<count {
            var one = Self.told("2\(number)", from: 0, at: 62)
            one.purchase.purchasedAt = Self.start.adding(milliseconds: Int64(number) * 60_000)
            queries.register(one)
            all.insert(one.purchase.transactionID)
        }
        queries.register(Self.told("1000", from: 0, at: 62))
        let app = Self.app(hasServerAPI: true, isLate: true)
        var leased = Self.leased()
        var found: Set<StoreTransactionID> = []
        var tries = 0
        while tries < 10 {
            tries += 1
            let findings = try self.found(await ask(app, leased, Self.verifier(.blocked(.request)), queries))
            found.formUnion(findings.periods.map(\.purchase.transactionID))
            guard case .time(let time) = findings.readUntil else {
                #expect(findings.readUntil == .end)
                break
            }
            var subscription = leased.subscription
            #expect(time > subscription.check.historySince ?? Self.start)
            subscription.check.historySince = time
            leased = LeasedSubscription(subscription, receipt: nil, lease: 1)
        }
        #expect(tries > 1 && all.isSubset(of: found))
    }

    @Test(
        "without API credentials the worker sends verifyReceipt the kept receipt, and keeps the answer's newest receipt"
    )
    func receipts() async throws {
        var answer = GenuineReceipt(
            bundleID: Self.bundle, environment: .production,
            purchases: [Self.period("1000", from: 0)], holdsAutoRenewable: true)
        answer.answeredAt = Self.start.adding(milliseconds: 31 * Self.day)
        answer.latestReceipt = "BBBB"
        answer.renewals = [
            RenewalInfo(
                originalTransactionID: "1000", willRenew: true, isInBillingRetry: true, environment: .production,
                signedAt: Self.start.adding(milliseconds: 31 * Self.day))
        ]
        let receipts = Self.verifier(.genuine(answer))
        let findings = try found(await ask(Self.app(hasServerAPI: false), Self.leased(receipt: "AAAA"), receipts))
        #expect(findings.facts.map(\.state) == [.billingRetry])
        #expect(findings.periods.isEmpty && findings.receipt == Base64.decode("BBBB".utf8))
        let asked = receipts.requests
        #expect(asked.map(\.receipt) == ["AAAA"] && asked.allSatisfy { $0.isRetry && $0.isProven && $0.isLeased })
    }

    @Test("if Apple's answer about a subscription has no receipt, the worker asks Apple again later")
    func nothingTold() async {
        let answer = await ask(
            Self.app(hasServerAPI: false), Self.leased(receipt: "AAAA"), Self.verifier(.refused(.nothingTold)))
        guard case .later(let seconds) = answer else {
            Issue.record("it counts as an answer")
            return
        }
        #expect(seconds > 0)
    }

    @Test(
        "after a 429 a subscription's check waits for Retry-After; a subscription unknown to Apple yields no findings")
    func trouble() async throws {
        let queries = InMemoryStoreQueries()
        let until = Self.start.adding(milliseconds: 31 * Self.day + 600_000)
        queries.fail(
            .subscriptionStatuses, .trouble(AppleAnswer.Trouble(.rateLimited, retryNotBefore: until)), .notFound)
        let app = Self.app(hasServerAPI: true)
        guard case .later(let seconds) = await ask(app, Self.leased(), Self.verifier(.blocked(.request)), queries)
        else {
            throw Unexpected()
        }
        #expect(seconds >= 660)
        let unknown = try found(await ask(app, Self.leased(), Self.verifier(.blocked(.request)), queries))
        #expect(unknown == SubscriptionFindings())
    }

    @Test("without API credentials and without a kept receipt the worker does not ask Apple about a subscription")
    func nothing() async throws {
        let receipts = Self.verifier(.blocked(.request))
        let answer = await ask(Self.app(hasServerAPI: false), Self.leased(), receipts)
        #expect(answer == .nothingToAskWith && receipts.requests.isEmpty)
    }

    @Test("if Apple refuses credentials, the worker reports whether the Server API or the shared secret is blocked")
    func blocked() async {
        for hasServerAPI in [true, false] {
            let queries = InMemoryStoreQueries()
            queries.fail(.subscriptionStatuses, .blocked(.serverAPI))
            let answer = await ask(
                Self.app(hasServerAPI: hasServerAPI), Self.leased(receipt: "AAAA"),
                Self.verifier(.blocked(.sharedSecret)), queries)
            guard case .blocked(let blockage, let seconds) = answer else {
                Issue.record("\(answer)")
                continue
            }
            #expect(blockage == (hasServerAPI ? .serverAPI : .sharedSecret) && seconds > 0)
        }
    }

    @Test("the worker reports the refunds of older periods and of other products that a subscription's receipt shows")
    func takenBack() async throws {
        func cancelled(_ purchase: StorePurchase) -> StorePurchase {
            var purchase = purchase
            purchase.cancelledAt = Self.start.adding(milliseconds: Self.day)
            return purchase
        }
        var upgraded = cancelled(Self.period("996", from: -120))
        upgraded.isUpgraded = true
        let coins = StorePurchase(
            transactionID: "3000", originalTransactionID: "3000", productID: "coins", purchasedAt: Self.start)
        let answer = GenuineReceipt(
            bundleID: Self.bundle, environment: .production,
            purchases: [
                upgraded, cancelled(Self.period("997", from: -90)), Self.period("998", from: -60),
                Self.period("1001", from: 30), cancelled(coins),
            ], holdsAutoRenewable: true)
        let findings = try found(
            await ask(
                Self.app(hasServerAPI: false), Self.leased(receipt: "AAAA"), Self.verifier(.genuine(answer))))
        #expect(findings.shown.map(\.purchase.transactionID) == ["997", "3000"] && findings.revoked.isEmpty)
        #expect(findings.periods.map(\.purchase.transactionID) == ["1001"])
    }
}
