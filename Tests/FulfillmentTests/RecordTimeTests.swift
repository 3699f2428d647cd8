import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The time by which a record is judged")
struct RecordTimeTests {
    private static let day: Int64 = 86_400_000
    private static let none = Timestamp(milliseconds: 0)

    /// A period that began ten days ago and ended after seven days.
    private static var period: StorePurchase {
        var period = Sample.purchase("1000", after: -10 * day)
        period.expiresAt = Sample.purchaseTime.adding(milliseconds: -3 * day)
        return period
    }

    private func verdict(
        of purchase: StorePurchase = period, beside others: [StorePurchase] = [], createdAt: Timestamp? = nil,
        at record: Timestamp, takenAt: Timestamp? = nil, announced: AnnouncedTerms? = nil
    ) -> JudgedPurchase.Verdict {
        let app = Sample.app([Product(id: Sample.product, kind: .autoRenewableSubscription)])
        var receipt = Sample.receipt([purchase] + others)
        receipt.createdAt = createdAt
        return Judge(
            submission: Sample.submission(), under: app.terms, recordTimestamp: record, takenAt: takenAt,
            now: Sample.recordTime, signature: .proven, announced: announced
        ).judged(purchase, in: receipt).verdict
    }

    private static let over = JudgedPurchase.Verdict.reject(.subscriptionExpired)
    private static let runs = JudgedPurchase.Verdict.grant(payload: nil)

    @Test("if the record's timestamp is in 1970 or before the purchase, the judge rejects an ended period")
    func untrue() {
        let bought = Self.period.purchasedAt
        for record in [Self.none, Timestamp(milliseconds: 1), bought.adding(milliseconds: -1)] {
            #expect(verdict(at: record) == Self.over)
        }
        #expect(verdict(at: bought) == Self.runs)
        #expect(verdict(at: bought.adding(milliseconds: 7 * Self.day - 1)) == Self.runs)
        #expect(verdict(at: bought.adding(milliseconds: 7 * Self.day)) == Self.over)
    }

    @Test("a parked record without a timestamp is judged by the time at which a worker first read the record")
    func kept() {
        let taken = Self.period.purchasedAt.adding(milliseconds: Self.day)
        #expect(verdict(at: Self.none, takenAt: taken) == Self.runs)
        #expect(verdict(at: Self.none, takenAt: taken.adding(milliseconds: 7 * Self.day)) == Self.over)
        // A worker read the record before this purchase, so the record was not sent for this period.
        #expect(verdict(at: Self.none, takenAt: Self.period.purchasedAt.adding(milliseconds: -1)) == Self.over)
        // A record's own timestamp counts before the time of the first reading.
        #expect(verdict(at: taken, takenAt: Sample.recordTime) == Self.runs)
        let ahead = Sample.recordTime.adding(milliseconds: Self.day)
        #expect(verdict(at: ahead, takenAt: taken) == Self.runs && verdict(at: ahead) == Self.over)
    }

    @Test("a later creation date of the receipt replaces the record's time; later purchases in Apple's answer do not")
    func receipts() {
        let record = Self.period.purchasedAt.adding(milliseconds: Self.day)
        let next = Sample.purchase("1001", original: "1000", after: -3 * Self.day)
        let made = Sample.purchaseTime.adding(milliseconds: -2 * Self.day)
        #expect(verdict(beside: [next], createdAt: made, at: record) == Self.over)
        #expect(verdict(beside: [next], createdAt: record, at: record) == Self.runs)
        #expect(verdict(beside: [next], at: record) == Self.runs)
    }

    @Test("an announced purchase is judged by the time of Apple's notification, even before the period begins")
    func announced() {
        let terms = AnnouncedTerms(source: .notification, isRenewal: false)
        let early = Self.period.purchasedAt.adding(milliseconds: -Self.day)
        #expect(verdict(at: early, announced: terms) == Self.runs)
        #expect(verdict(at: Sample.recordTime, announced: terms) == Self.over)
    }

    @Test("for a record without timestamp, the judge asks about grace 3 days after a period's end, but not after 93")
    func grace() {
        var app = Sample.app([Product(id: Sample.product, kind: .autoRenewableSubscription)])
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        var old = Sample.purchase("1000", after: -100 * Self.day)
        old.expiresAt = Sample.purchaseTime.adding(milliseconds: -93 * Self.day)
        func judgement(_ purchase: StorePurchase, at record: Timestamp) -> Judgement {
            Judge(
                submission: Sample.submission(), under: app.terms, recordTimestamp: record, now: Sample.recordTime,
                signature: .proven
            ).judge(.genuine(Sample.receipt([purchase])), doubts: { _ in 0 })
        }
        #expect(judgement(Self.period, at: Self.none) == .needs(.grace(of: Self.period, in: .production)))
        // No grace period lasts 93 days.
        guard case .decided = judgement(old, at: Self.none) else {
            Issue.record("it is asked about")
            return
        }
    }
}
