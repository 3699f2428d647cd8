import Testing

@testable import Fulfillment

@Suite("The judge on one purchase")
struct JudgePurchaseTests {
    /// Everything that a purchase is judged by, plain until a fault is added.
    struct Case: Sendable {
        var submission = Sample.submission(token: Sample.token)
        var app = Sample.app()
        var purchase: StorePurchase
        var isExpiredSubscription = false
        var signature = ParsedProof.Signature.notProvable

        init() {
            purchase = Sample.purchase()
            purchase.appAccountToken = Sample.token
        }

        var verdict: JudgedPurchase.Verdict? {
            var receipt = Sample.receipt([purchase])
            receipt.isExpiredSubscription = isExpiredSubscription
            let judge = Judge(
                submission: submission, app: app, recordTimestamp: Sample.recordTime, signature: signature)
            guard case .decided(.each(let judged)) = judge.judge(.genuine(receipt), doubts: { _ in 0 }) else {
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

    /// In the contract's order; each can be added to all behind it.
    static let faults: [Fault] = [
        Fault(verdict: .reject(.bindingMismatch)) { $0.submission = Sample.submission(token: Sample.otherToken) },
        Fault(verdict: .reject(.cancelled)) { $0.purchase.cancelledAt = Sample.recordTime },
        Fault(verdict: .reject(.familyShared)) { $0.purchase.isFamilyShared = true },
        Fault(verdict: .reject(.subscriptionExpired)) { $0.purchase.expiresAt = Sample.recordTime },
        Fault(verdict: .hold(.bindingMissing)) {
            $0.app.accountToken = .require
            $0.purchase.appAccountToken = nil
        },
        Fault(verdict: .hold(.beforeCutover)) { $0.app.cutover = Sample.recordTime },
        Fault(verdict: .hold(.unknownProduct)) { $0.app.products[Sample.product] = nil },
        Fault(verdict: .hold(.retiredProduct)) { $0.bend { $0.isRetired = true } },
        Fault(verdict: .hold(.currencyNotAllowed)) {
            $0.app.currencies = ["EUR"]
            $0.purchase.currency = "USD"
        },
    ]

    @Test("each fault alone is told", arguments: faults)
    func alone(fault: Fault) {
        var plain = Case()
        #expect(plain.verdict == .grant(payload: nil))
        fault.add(&plain)
        #expect(plain.verdict == fault.verdict)
    }

    @Test("of any two faults the earlier of the contract's order is told", arguments: faults.indices)
    func precedence(index: Int) {
        let earlier = Self.faults[index]
        for later in Self.faults.dropFirst(index + 1) {
            var bent = Case()
            later.add(&bent)
            earlier.add(&bent)
            let tokenIsTaken = earlier.verdict == .reject(.bindingMismatch) && later.verdict == .hold(.bindingMissing)
            // A purchase without a token cannot differ from the submission's.
            #expect(bent.verdict == (tokenIsTaken ? later.verdict : earlier.verdict), "against \(later.verdict)")
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

    @Test("tokens are compared where both are there, and required where the app says so", arguments: tokensCases)
    func tokens(
        policy: AppPolicy.AccountTokenPolicy, submitted: String?, told: String?, verdict: JudgedPurchase.Verdict
    ) {
        var bent = Case()
        bent.app.accountToken = policy
        bent.submission = Sample.submission(token: submitted)
        bent.purchase.appAccountToken = told
        #expect(bent.verdict == verdict)
    }

    @Test("a bare transaction id needs both tokens, and equal", arguments: tokensCases)
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
        "a signed transaction that is not proven needs both tokens, and equal, as the id in it does",
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

    @Test("a token submitted in upper case is the same token")
    func upperCaseToken() {
        var bent = Case()
        let record = SampleRecord().with("app_account_token", "\"\(Sample.token.uppercased())\"")
        bent.submission = record.submission ?? bent.submission
        bent.app.accountToken = .require
        #expect(bent.verdict == .grant(payload: nil))
    }

    @Test("a period is over at its last instant", arguments: [(-1, true), (0, true), (1, false)] as [(Int64, Bool)])
    func expiry(milliseconds: Int64, isOver: Bool) {
        var bent = Case()
        bent.purchase.expiresAt = Sample.recordTime.adding(milliseconds: milliseconds)
        #expect(bent.verdict == (isOver ? .reject(.subscriptionExpired) : .grant(payload: nil)))
    }

    @Test("21006 says that the period is over, whatever its date")
    func expiredReceipt() {
        var bent = Case()
        bent.isExpiredSubscription = true
        bent.purchase.expiresAt = Sample.recordTime.adding(milliseconds: 1)
        #expect(bent.verdict == .reject(.subscriptionExpired))
    }

    @Test(
        "a purchase at the cutover itself is not older than it",
        arguments: [(-1, false), (0, false), (1, true)] as [(Int64, Bool)])
    func cutover(milliseconds: Int64, isHeld: Bool) {
        var bent = Case()
        bent.app.cutover = Sample.purchaseTime.adding(milliseconds: milliseconds)
        #expect(bent.verdict == (isHeld ? .hold(.beforeCutover) : .grant(payload: nil)))
    }

    static let retiredCases: [(Product.RetiredAction, JudgedPurchase.Verdict)] = [
        (.hold, .hold(.retiredProduct)), (.reject, .reject(.retiredProduct)), (.grant, .grant(payload: #"{"gold":1}"#)),
    ]

    @Test("a retired product is held, rejected or granted, as the catalog says", arguments: retiredCases)
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
        "Apple's word on the currency comes before the client's; one that nobody told is admitted",
        arguments: currencyCases)
    func currency(admitted: Set<String>?, told: String?, submitted: String?, isAdmitted: Bool) {
        var bent = Case()
        bent.app.currencies = admitted
        bent.purchase.currency = told
        bent.submission = Sample.submission(token: Sample.token, currency: submitted)
        #expect(bent.verdict == (isAdmitted ? .grant(payload: nil) : .hold(.currencyNotAllowed)))
    }

    @Test("family sharing is accepted where the app accepts it")
    func familySharing() {
        var bent = Case()
        bent.purchase.isFamilyShared = true
        bent.app.acceptsFamilyShared = true
        #expect(bent.verdict == .grant(payload: nil))
    }
}
