import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The judge's further questions to Apple")
struct JudgeFurtherTests {
    private static let hour: Int64 = 3_600_000
    private static let missing: ProductID = "gold.2"

    private static var app: AppPolicy {
        var app = Sample.app([Product(id: Sample.product, kind: .consumable), Product(id: missing, kind: .consumable)])
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        return app
    }

    private static var checking: AppPolicy {
        var app = app
        app.announcements.checksRefunds = true
        return app
    }

    /// Returns a receipt with purchases that are two hours old. Apple made the receipt an hour before the record.
    private static func receipt(_ purchases: [StorePurchase] = [old("1000")]) -> GenuineReceipt {
        var receipt = Sample.receipt(purchases)
        receipt.createdAt = Sample.recordTime.adding(milliseconds: -hour)
        return receipt
    }

    private static func old(_ id: StoreTransactionID, product: ProductID = Sample.product) -> StorePurchase {
        Sample.purchase(id, product: product, after: -2 * hour)
    }

    private static func told(_ purchase: StorePurchase) -> NotifiedTransaction {
        NotifiedTransaction(purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)
    }

    private func judge(
        _ receipt: GenuineReceipt, _ submission: Submission = Sample.submission(), app: AppPolicy = checking,
        besides further: FurtherAnswers = FurtherAnswers()
    ) -> Judgement {
        Judge(
            submission: submission, under: app.terms, recordTimestamp: Sample.recordTime, now: Sample.recordTime,
            signature: .notProvable
        ).judge(.genuine(receipt), besides: further) { _ in 0 }
    }

    private func verdicts(_ judgement: Judgement) -> [JudgedPurchase.Verdict]? {
        guard case .decided(.each(let judged)) = judgement else { return nil }
        return judged.map(\.verdict)
    }

    @Test("if the app has refund_check, the judge looks up those consumables of a receipt that are older than an hour")
    func refunds() {
        let receipt = Self.receipt([Self.old("1"), Self.old("2"), Sample.purchase("3")])
        #expect(judge(receipt) == .needs(.transactions(["1", "2"], in: .production)))
        let atAnHour = Sample.purchase("4", after: -Self.hour + 60_000)
        #expect(verdicts(judge(Self.receipt([atAnHour]))) == [.grant(payload: nil)])
        let pastIt = Sample.purchase("5", after: -Self.hour + 59_999)
        #expect(judge(Self.receipt([pastIt])) == .needs(.transactions(["5"], in: .production)))
    }

    @Test("the judge looks up only grantable consumables of a receipt, and only with refund_check and API credentials")
    func noLookUp() {
        #expect(verdicts(judge(Self.receipt(), app: Self.app)) == [.grant(payload: nil)])
        var withoutAPI = Self.checking
        withoutAPI.serverAPI = nil
        #expect(verdicts(judge(Self.receipt(), app: withoutAPI)) == [.grant(payload: nil)])
        var other = Self.checking
        other.products[Sample.product] = Product(id: Sample.product, kind: .nonConsumable)
        #expect(verdicts(judge(Self.receipt(), app: other)) == [.grant(payload: nil)])
        other.products[Sample.product] = nil
        #expect(verdicts(judge(Self.receipt(), app: other)) == [.hold(.unknownProduct)])
        let bareID = Sample.submission(proof: .transactionID("1000"), token: Sample.token)
        var bound = Self.old("1000")
        bound.appAccountToken = Sample.token
        #expect(verdicts(judge(Self.receipt([bound]), bareID)) == [.grant(payload: nil)])
    }

    @Test("if Apple knows a looked-up purchase, Apple's answer decides it; otherwise the receipt decides it")
    func lookedUp() {
        let receipt = Self.receipt([Self.old("1"), Self.old("2"), Self.old("3"), Self.old("4")])
        var further = FurtherAnswers(settled: ["4"])
        var refunded = Self.old("1")
        refunded.cancelledAt = Sample.recordTime
        further.note(refunded, of: "1")
        var priced = Self.old("2")
        priced.told = PurchaseFacts(priceMilliunits: 1990)
        further.note(priced, of: "2")
        #expect(judge(receipt, besides: further) == .needs(.transactions(["3"], in: .production)))
        further.note(nil, of: "3")
        let judgement = judge(receipt, besides: further)
        #expect(verdicts(judgement) == [.reject(.cancelled)] + Array(repeating: .grant(payload: nil), count: 3))
        guard case .decided(let verdict) = judgement else { return }
        #expect(verdict.purchases[1].told?.priceMilliunits == 1990)
        // The remembered lookups leave out refunded transaction 1, because Apple's answer about a refund may change.
        let remembered = further.remembered(since: Sample.recordTime)
        #expect(remembered.settled == ["3", "4"] && remembered.told == [priced])
    }

    @Test("if Apple's answer to a look-up has no original purchase time, the purchase keeps the time from the receipt")
    func lookedUpCopy() {
        var copy = Sample.purchase("2", original: "1")
        copy.originalPurchasedAt = Sample.purchaseTime.adding(milliseconds: -1)
        copy.unreadable = ["quantity"]
        var further = FurtherAnswers()
        further.note(Sample.purchase("2", original: "1"), of: "2")
        let completed = Self.receipt([copy]).completed(by: further, adding: [])
        #expect(completed.purchases.first?.originalPurchasedAt == copy.originalPurchasedAt)
        #expect(completed.purchases.first?.unreadable == [])
        var told = copy
        told.originalPurchasedAt = Sample.purchaseTime
        further.note(told, of: "2")
        #expect(Self.receipt([copy]).completed(by: further, adding: []).purchases == [told])
    }

    @Test(
        "if a dated receipt lacks the product and the app has API credentials, the judge asks for the account's history"
    )
    func history() {
        let submission = Sample.submission(productID: Self.missing)
        // The window begins an hour before the receipt, which Apple made an hour ago.
        let bought = Sample.recordTime.adding(milliseconds: -2 * Self.hour)...Sample.recordTime
        let question = FurtherQuestion.purchases(
            FurtherQuestion.EarlyFinish(
                transaction: "1001", environment: .production, product: Self.missing, bought: bought))
        let receipt = Self.receipt([Self.old("1000"), Sample.purchase("1001")])
        #expect(judge(receipt, submission, app: Self.app) == .needs(question))
        let mismatch = Judgement.decided(.whole(.productMismatch, receipt.purchases))
        var withoutAPI = Self.app
        withoutAPI.serverAPI = nil
        #expect(judge(receipt, submission, app: withoutAPI) == mismatch)
        var undated = receipt
        undated.createdAt = nil
        #expect(judge(undated, submission, app: Self.app) == mismatch)
        let bareID = Sample.submission(proof: .transactionID("1000"), productID: Self.missing)
        #expect(judge(receipt, bareID, app: Self.app) == mismatch)
        var further = FurtherAnswers()
        further.history = []
        #expect(judge(receipt, submission, app: Self.app, besides: further) == mismatch)
    }

    struct Bound: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let counts: Bool
        let bend: @Sendable (inout NotifiedTransaction, inout AppPolicy) -> Void

        init(
            _ words: String, counts: Bool,
            _ bend: @escaping @Sendable (inout NotifiedTransaction, inout AppPolicy) -> Void
        ) {
            testDescription = words
            self.counts = counts
            self.bend = bend
        }
    }

    /// The cases for a receipt that Apple made an hour before the record.
    static let bounds: [Bound] = [
        Bound("nothing is odd", counts: true) { _, _ in },
        Bound("an hour before the receipt", counts: true) { told, _ in
            told.purchase.purchasedAt = Sample.recordTime.adding(milliseconds: -2 * hour)
        },
        Bound("a moment more before the receipt", counts: false) { told, _ in
            told.purchase.purchasedAt = Sample.recordTime.adding(milliseconds: -2 * hour - 1)
        },
        Bound("an hour after the receipt", counts: true) { told, _ in
            told.purchase.purchasedAt = Sample.recordTime
        },
        Bound("a moment more after the receipt", counts: false) { told, _ in
            told.purchase.purchasedAt = Sample.recordTime.adding(milliseconds: 1)
        },
        Bound("at the cutover", counts: true) { told, app in app.cutover = told.purchase.purchasedAt },
        Bound("before the cutover", counts: false) { told, app in
            app.cutover = told.purchase.purchasedAt.adding(milliseconds: 1)
        },
        Bound("shared by family", counts: false) { told, _ in told.purchase.ownership = .familyShared },
        Bound("of an unknown ownership", counts: false) { told, _ in told.purchase.ownership = .other },
        Bound("the submission's token", counts: true) { told, _ in told.purchase.appAccountToken = Sample.token },
        Bound("another token", counts: false) { told, _ in told.purchase.appAccountToken = Sample.otherToken },
        Bound("another app's", counts: false) { told, _ in told.bundleID = "com.example.other" },
        Bound("of the sandbox", counts: false) { told, _ in told.environment = .sandbox },
    ]

    @Test(
        "the judge counts a purchase in the account's history only if time, ownership, token, app and environment fit",
        arguments: bounds)
    func withinBounds(bound: Bound) {
        var told = Self.told(Sample.purchase("2000", product: Self.missing))
        var app = Self.app
        bound.bend(&told, &app)
        var further = FurtherAnswers()
        further.history = [told]
        let receipt = Self.receipt([Sample.purchase("1000")])
        let submission = Sample.submission(productID: Self.missing, token: Sample.token)
        guard case .decided(let verdict) = judge(receipt, submission, app: app, besides: further) else {
            Issue.record("nothing is decided")
            return
        }
        let ids: Set<StoreTransactionID> = bound.counts ? ["1000", "2000"] : ["1000"]
        #expect(Set(verdict.purchases.map(\.transactionID)) == ids)
        if case .whole(let reason, _) = verdict { #expect(!bound.counts && reason == .productMismatch) }
    }

    @Test(
        "if a submission has no account token, the judge counts no purchase in the account's history that has a token")
    func unboundSubmission() {
        var told = Self.told(Sample.purchase("2000", product: Self.missing))
        told.purchase.appAccountToken = Sample.token
        var further = FurtherAnswers()
        further.history = [told]
        let receipt = Self.receipt()
        let submission = Sample.submission(productID: Self.missing)
        #expect(
            judge(receipt, submission, app: Self.app, besides: further)
                == .decided(.whole(.productMismatch, receipt.purchases)))
    }

    @Test("the judge applies a receipt's rules to purchases in the account's history, and looks up none of them again")
    func judgedFromHistory() {
        var refunded = Self.told(Sample.purchase("2000", product: Self.missing, after: -Self.hour))
        refunded.purchase.cancelledAt = Sample.recordTime
        let paid = Self.told(Sample.purchase("2001", product: Self.missing, after: -Self.hour))
        var further = FurtherAnswers(settled: ["1000"])
        further.history = [refunded, paid]
        let judgement = judge(Self.receipt(), Sample.submission(productID: Self.missing), besides: further)
        #expect(verdicts(judgement) == [.grant(payload: nil), .reject(.cancelled), .grant(payload: nil)])
    }

    @Test("the judge remembers a bounded number of look-ups for a submission")
    func remembered() {
        let ids = (0..<RememberedLookUps.maximum + 5).map { StoreTransactionID(String($0)) }
        var further = FurtherAnswers(settled: Set(ids.dropLast(6)))
        for id in ids.suffix(6) { further.note(Self.old(id), of: id) }
        let remembered = further.remembered(since: Sample.recordTime)
        #expect(remembered.settled.count + remembered.told.count == RememberedLookUps.maximum)
        #expect(remembered.told.map(\.transactionID) == ids.suffix(6).sorted())
    }
}
