import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The judge on one purchase")
struct JudgePurchaseTests {
    /// A case with all facts by which the judge decides about a purchase. The case is sound until a test adds a fault.
    struct Case: Sendable {
        var submission = Sample.submission(token: Sample.token)
        var app = Sample.app()
        var purchase: StorePurchase
        var isExpiredSubscription = false
        var signature = ParsedProof.Signature.notProvable
        /// The number of times that Apple gave each doubtful answer before.
        var doubts = 0
        var isDecidedAgain = false

        init() {
            purchase = Sample.purchase()
            purchase.appAccountToken = Sample.token
        }

        var verdict: JudgedPurchase.Verdict? {
            var receipt = Sample.receipt([purchase])
            receipt.isExpiredSubscription = isExpiredSubscription
            let judge = Judge(
                submission: submission, under: app.terms, recordTimestamp: Sample.recordTime, now: Sample.recordTime,
                signature: signature, isDecidedAgain: isDecidedAgain)
            guard case .decided(.each(let judged)) = judge.judge(.genuine(receipt), doubts: { _ in doubts }) else {
                return nil
            }
            return judged.first?.verdict
        }

        mutating func bend(_ change: (inout Product) -> Void) {
            guard var product = app.products[Sample.product] else { return }
            change(&product)
            app.products[Sample.product] = product
        }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let verdict: JudgedPurchase.Verdict
        let add: @Sendable (inout Case) -> Void
        var testDescription: String { "\(verdict)" }
    }

    /// The faults in the contract's order. A test can combine any two faults.
    static let faults: [Fault] = [
        Fault(verdict: .reject(.bindingMismatch)) { $0.submission = Sample.submission(token: Sample.otherToken) },
        Fault(verdict: .reject(.upgraded)) { $0.purchase.isUpgraded = true },
        Fault(verdict: .reject(.cancelled)) { $0.purchase.cancelledAt = Sample.recordTime },
        Fault(verdict: .reject(.familyShared)) { $0.purchase.ownership = .familyShared },
        Fault(verdict: .reject(.subscriptionExpired)) { $0.purchase.expiresAt = Sample.recordTime },
        Fault(verdict: .hold(.unknownOwnership)) { $0.purchase.ownership = .other },
        Fault(verdict: .hold(.kindMismatch)) { $0.purchase.type = .known(.nonConsumable) },
        Fault(verdict: .hold(.bindingMissing)) {
            $0.app.accountToken = .require
            $0.purchase.appAccountToken = nil
        },
        Fault(verdict: .hold(.beforeCutover)) { $0.app.cutover = Sample.recordTime },
        Fault(verdict: .hold(.unreadableTransaction)) { $0.purchase.unreadable = ["quantity"] },
        Fault(verdict: .hold(.unknownProduct)) { $0.app.products[Sample.product] = nil },
        Fault(verdict: .hold(.retiredProduct)) { $0.bend { $0.isRetired = true } },
        Fault(verdict: .hold(.currencyNotAllowed)) {
            $0.app.currencies = ["EUR"]
            $0.purchase.currency = "USD"
        },
    ]

    @Test("a purchase with a single fault gets the reason for this fault", arguments: faults)
    func alone(fault: Fault) {
        var plain = Case()
        #expect(plain.verdict == .grant(payload: nil))
        fault.add(&plain)
        #expect(plain.verdict == fault.verdict)
    }

    @Test(
        "a purchase with two faults gets the reason that comes first in the contract's order",
        arguments: faults.indices)
    func precedence(index: Int) {
        let earlier = Self.faults[index]
        for later in Self.faults.dropFirst(index + 1) {
            var bent = Case()
            later.add(&bent)
            earlier.add(&bent)
            let tokenIsTaken = earlier.verdict == .reject(.bindingMismatch) && later.verdict == .hold(.bindingMissing)
            // `tokenIsTaken`: a purchase without a token cannot differ from the submission's token. `isOverwritten`:
            // both faults set the purchase's ownership. `isKindless`: a product outside the catalog has no kind to
            // compare.
            let isOverwritten = earlier.verdict == .reject(.familyShared) && later.verdict == .hold(.unknownOwnership)
            let isKindless = earlier.verdict == .hold(.kindMismatch) && later.verdict == .hold(.unknownProduct)
            let told = tokenIsTaken || isKindless ? later.verdict : earlier.verdict
            #expect(isOverwritten || bent.verdict == told, "against \(later.verdict)")
        }
    }

    static let tokensCases: [(AppPolicy.AccountTokenPolicy, String?, String?, JudgedPurchase.Verdict)] = [
        (.compare, nil, nil, .grant(payload: nil)), (.compare, Sample.token, nil, .grant(payload: nil)),
        (.compare, nil, Sample.token, .grant(payload: nil)),
        (.compare, Sample.token, Sample.token, .grant(payload: nil)),
        (.compare, Sample.otherToken, Sample.token, .reject(.bindingMismatch)),
        (.require, nil, nil, .reject(.bindingMismatch)), (.require, nil, Sample.token, .reject(.bindingMismatch)),
        (.require, Sample.token, nil, .hold(.bindingMissing)),
        (.require, Sample.token, Sample.token, .grant(payload: nil)),
        (.require, Sample.otherToken, Sample.token, .reject(.bindingMismatch)),
    ]

    @Test(
        "if submission and purchase have account tokens, the judge compares them; under `require`, both must have one",
        arguments: tokensCases)
    func tokens(
        policy: AppPolicy.AccountTokenPolicy, submitted: String?, told: String?, verdict: JudgedPurchase.Verdict
    ) {
        var bent = Case()
        bent.app.accountToken = policy
        bent.submission = Sample.submission(token: submitted)
        bent.purchase.appAccountToken = told
        #expect(bent.verdict == verdict)
    }

    @Test(
        "a bare transaction id is granted only if the submission and the purchase have the same account token",
        arguments: tokensCases)
    func bareID(
        policy: AppPolicy.AccountTokenPolicy, submitted: String?, told: String?, verdict: JudgedPurchase.Verdict
    ) {
        var bent = Case()
        bent.app.accountToken = policy
        bent.submission = Sample.submission(proof: .transactionID("1000"), token: submitted)
        bent.purchase.appAccountToken = told
        let isTied = submitted == Sample.token && told == Sample.token
        #expect(bent.verdict == (isTied ? .grant(payload: nil) : .reject(.bindingMismatch)))
    }

    @Test(
        "an unproven signed transaction is granted only if the submission and the purchase have the same account token",
        arguments: tokensCases)
    func unprovenTransaction(
        policy: AppPolicy.AccountTokenPolicy, submitted: String?, told: String?, verdict: JudgedPurchase.Verdict
    ) {
        var bent = Case()
        bent.app.accountToken = policy
        bent.submission = Sample.submission(proof: .signedTransaction("a.b.c"), token: submitted)
        bent.purchase.appAccountToken = told
        bent.signature = .notProvable
        let isTied = submitted == Sample.token && told == Sample.token
        #expect(bent.verdict == (isTied ? .grant(payload: nil) : .reject(.bindingMismatch)))
        bent.signature = .proven
        #expect(bent.verdict == verdict)
    }

    @Test("an account token submitted in upper case equals the purchase's token in lower case")
    func upperCaseToken() {
        var bent = Case()
        let record = SampleRecord().with("app_account_token", "\"\(Sample.token.uppercased())\"")
        bent.submission = record.submission ?? bent.submission
        bent.app.accountToken = .require
        #expect(bent.verdict == .grant(payload: nil))
    }

    @Test(
        "a subscription period counts as expired from the millisecond of its expiry date",
        arguments: [(-1, true), (0, true), (1, false)] as [(Int64, Bool)])
    func expiry(milliseconds: Int64, isOver: Bool) {
        var bent = Case()
        bent.purchase.expiresAt = Sample.recordTime.adding(milliseconds: milliseconds)
        #expect(bent.verdict == (isOver ? .reject(.subscriptionExpired) : .grant(payload: nil)))
    }

    @Test(
        "if Apple gives status 21006 three times, the judge rejects a purchase as expired, even before its expiry date")
    func expiredReceipt() {
        var bent = Case()
        bent.isExpiredSubscription = true
        bent.purchase.expiresAt = Sample.recordTime.adding(milliseconds: 1)
        for (doubts, verdict) in [(0, nil), (1, nil), (2, .reject(.subscriptionExpired))]
            as [(Int, JudgedPurchase.Verdict?)]
        {
            bent.doubts = doubts
            #expect(bent.verdict == verdict)
        }
    }

    @Test("the judge believes the first status 21006 if the expiry date is past or another rule rejects the purchase")
    func undoubtedExpiry() {
        var bent = Case()
        bent.isExpiredSubscription = true
        bent.purchase.expiresAt = Sample.recordTime
        #expect(bent.verdict == .reject(.subscriptionExpired))
        bent.purchase.expiresAt = nil
        bent.purchase.cancelledAt = Sample.recordTime
        #expect(bent.verdict == .reject(.cancelled))
    }

    static let retiredCases: [(Product.RetiredAction, JudgedPurchase.Verdict)] = [
        (.hold, .hold(.retiredProduct)), (.reject, .reject(.retiredProduct)), (.grant, .grant(payload: #"{"gold":1}"#)),
    ]

    @Test("a purchase of a retired product is held, rejected or granted, as the catalog says", arguments: retiredCases)
    func retired(action: Product.RetiredAction, verdict: JudgedPurchase.Verdict) {
        var bent = Case()
        bent.bend { product in
            product.onRetired = action
            product.payload = #"{"gold":1}"#
        }
        #expect(bent.verdict == .grant(payload: #"{"gold":1}"#))
        bent.bend { $0.isRetired = true }
        #expect(bent.verdict == verdict)
    }

    static let currencyCases: [(Set<String>?, String?, String?, Bool)] = [
        (nil, "USD", "USD", true), (["CNY"], "CNY", nil, true), (["CNY"], "USD", nil, false),
        (["CNY"], "USD", "CNY", false),
        (["CNY"], "CNY", "USD", true), (["CNY"], nil, "CNY", true), (["CNY"], nil, "USD", false),
        (["CNY"], nil, nil, true),
        ([], "USD", nil, false), ([], nil, nil, true),
    ]

    @Test(
        "Apple's currency overrides the client's currency, and a purchase without a currency is admitted",
        arguments: currencyCases)
    func currency(admitted: Set<String>?, told: String?, submitted: String?, isAdmitted: Bool) {
        var bent = Case()
        bent.app.currencies = admitted
        bent.purchase.currency = told
        bent.submission = Sample.submission(token: Sample.token, currency: submitted)
        #expect(bent.verdict == (isAdmitted ? .grant(payload: nil) : .hold(.currencyNotAllowed)))
    }

    @Test("a family-shared purchase is granted if the app accepts family sharing")
    func familySharing() {
        var bent = Case()
        bent.purchase.ownership = .familyShared
        bent.app.acceptsFamilyShared = true
        #expect(bent.verdict == .grant(payload: nil))
    }

    @Test("if Apple's type of a purchase is not the catalog's kind, the judge holds it, unless kind_mismatch is waived")
    func kinds() {
        var bent = Case()
        for type in [nil, PurchaseType.known(.consumable)] {
            bent.purchase.type = type
            #expect(bent.verdict == .grant(payload: nil))
        }
        for type in [PurchaseType.known(.autoRenewableSubscription), .known(.nonRenewingSubscription), .other] {
            bent.purchase.type = type
            #expect(bent.verdict == .hold(.kindMismatch))
        }
        let released = Judge(
            submission: bent.submission, under: bent.app.terms, recordTimestamp: Sample.recordTime,
            now: Sample.recordTime,
            signature: .proven, waived: [.kindMismatch])
        #expect(released.judged(bent.purchase, in: Sample.receipt([bent.purchase])).verdict == .grant(payload: nil))
    }

    @Test("the judge treats a record timestamp in the future as the present time")
    func future() {
        var purchase = Sample.purchase()
        purchase.expiresAt = Sample.recordTime.adding(milliseconds: 1_000)
        func verdict(at record: Int64, now: Int64) -> JudgedPurchase.Verdict {
            Judge(
                submission: Sample.submission(), under: Sample.app().terms,
                recordTimestamp: Sample.recordTime.adding(milliseconds: record),
                now: Sample.recordTime.adding(milliseconds: now), signature: .proven
            ).judged(purchase, in: Sample.receipt([purchase])).verdict
        }
        #expect(verdict(at: 86_400_000, now: 0) == .grant(payload: nil))
        #expect(verdict(at: 86_400_000, now: 1_000) == .reject(.subscriptionExpired))
        #expect(verdict(at: 0, now: 86_400_000) == .grant(payload: nil))
    }

    @Test(
        "if the app uses player ids as account tokens, another player's token in submission or purchase is a mismatch")
    func tokenIsPlayer() {
        func verdict(player: PlayerID, _ submitted: String?, _ told: String?) -> JudgedPurchase.Verdict? {
            var bent = Case()
            bent.app.accountTokenIs = .playerID
            bent.submission = Sample.submission(player: player, token: submitted)
            bent.purchase.appAccountToken = told
            return bent.verdict
        }
        let player = PlayerID(Sample.token)
        #expect(verdict(player: player, Sample.token, Sample.token) == .grant(payload: nil))
        #expect(verdict(player: player, nil, nil) == .grant(payload: nil))
        #expect(verdict(player: player, nil, Sample.token) == .grant(payload: nil))
        #expect(verdict(player: player, nil, Sample.otherToken) == .reject(.bindingMismatch))
        #expect(verdict(player: player, Sample.otherToken, nil) == .reject(.bindingMismatch))
        #expect(verdict(player: "player-1", Sample.token, Sample.token) == .reject(.bindingMismatch))
        let upper = PlayerID(Sample.token.uppercased())
        #expect(verdict(player: upper, Sample.token, Sample.token) == .reject(.bindingMismatch))
    }
}
