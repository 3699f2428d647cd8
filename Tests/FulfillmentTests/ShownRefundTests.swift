import Fulfillment
import NamesAndTimes
import Testing

@Suite("Refunds of announced purchases, seen in Apple's answers")
struct ShownRefundTests {
    private static let refundedAt = Sample.recordTime.adding(milliseconds: 60_000)

    /// - Parameter share: the refunded share in thousandths of a percent; nil for a whole refund.
    private static func shown(
        _ id: StoreTransactionID = "1000", at time: Timestamp? = refundedAt, share: Int32? = nil,
        environment: StoreEnvironment = .production
    ) -> NotifiedTransaction {
        var purchase = Sample.purchase(id)
        purchase.cancelledAt = time
        return NotifiedTransaction(
            purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: environment,
            refundedMilliPercent: share)
    }

    private static func evidence(quantity: Int32 = 1) -> GenuineReceipt {
        var purchase = Sample.purchase()
        purchase.quantity = quantity
        return Sample.receipt([purchase])
    }

    /// Returns the announcement as a worker leases it after Apple showed the refund.
    private static func leased(_ shown: NotifiedTransaction, quantity: Int32 = 1) throws -> LeasedAnnouncement {
        let refunded = try #require(evidence(quantity: quantity).refunded(by: shown, since: Sample.recordTime))
        let purchase = try #require(
            AnnouncedPurchase(
                evidence: refunded, source: .notification, name: "n", toldAt: Sample.recordTime, isRenewal: false))
        return LeasedAnnouncement(purchase: purchase, timesHeld: 0, lease: 0)
    }

    private static func judge(
        _ leased: LeasedAnnouncement, withAPI: Bool = true, isRefunded: Bool = false, isPublished: Bool = false
    ) -> String {
        var app = Sample.app()
        app.announcements.missedPurchases = .grant
        if withAPI { app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S") }
        var ownership = AnnouncedOwnership(
            owner: "player-1", grantsSince: Sample.purchaseTime, isRefunded: isRefunded)
        ownership.isPublished = isPublished
        switch leased.judge(under: Catalog(version: 1, apps: [app]), ownership, at: Self.refundedAt) {
        case .deliver(let decision):
            let refunds = decision.revocationsShown.map { $0.refundedMilliPercent ?? 0 }
            return refunds.isEmpty ? "grants" : "grants but \(refunds)"
        case .asks: return "asks"
        case .refused(let reason, _): return "refuses \(reason.rawValue)"
        case .unclaimed, .ignored, .erased: return "no verdict"
        }
    }

    @Test(
        "a refund in Apple's answer counts only for its own transaction, and only if it is newer than the known facts"
    )
    func newer() throws {
        let (evidence, announcedAt) = (Self.evidence(quantity: 3), Sample.recordTime)
        let part = try #require(evidence.refunded(by: Self.shown(share: 33_333), since: announcedAt))
        let purchase = try #require(part.purchases.first)
        #expect((purchase.cancelledAt, purchase.refundedMilliPercent) == (Self.refundedAt, 33_333))
        #expect(purchase.quantity == 3)
        let later = Self.refundedAt.adding(milliseconds: 1)
        #expect(part.refunded(by: Self.shown(at: later), since: announcedAt)?.purchases.first?.cancelledAt == later)
        #expect(part.refunded(by: Self.shown(), since: announcedAt) == nil)
        #expect(evidence.refunded(by: Self.shown(at: announcedAt), since: announcedAt) == nil)
        #expect(evidence.refunded(by: Self.shown(at: nil), since: announcedAt) == nil)
        #expect(evidence.refunded(by: Self.shown("1001"), since: announcedAt) == nil)
        #expect(evidence.refunded(by: Self.shown(environment: .sandbox), since: announcedAt) == nil)
        var upgraded = Self.shown()
        upgraded.purchase.isUpgraded = true
        #expect(evidence.refunded(by: upgraded, since: announcedAt) == nil)
    }

    @Test(
        "if an answer shows an announced purchase's refund, the worker asks Apple; without API it believes the refund")
    func asked() throws {
        let whole = try Self.leased(Self.shown())
        #expect(Self.judge(whole) == "asks")
        #expect(Self.judge(whole, withAPI: false) == "refuses cancelled")
        #expect(Self.judge(whole, isRefunded: true) == "refuses cancelled")
        #expect(Self.judge(whole.told(nil)) == "refuses cancelled")
        #expect(Self.judge(whole.told(Self.shown(at: nil))) == "grants")
        let part = try Self.leased(Self.shown(share: 50_000), quantity: 4)
        #expect(Self.judge(part) == "asks")
        #expect(Self.judge(part, withAPI: false) == "grants but [50000]")
    }

    @Test("if the database lost a published grant, the worker asks Apple before it grants the purchase again")
    func published() throws {
        let told = try #require(
            AnnouncedPurchase(
                evidence: Self.evidence(), source: .notification, name: "n", toldAt: Sample.recordTime,
                isRenewal: false))
        let unknown = LeasedAnnouncement(purchase: told, timesHeld: 0, lease: 0)
        let known = LeasedAnnouncement(purchase: told, timesHeld: 0, lease: 0, isPublished: true)
        #expect(Self.judge(unknown) == "grants")
        for leased in [unknown, known] {
            #expect(Self.judge(leased, isPublished: true) == "asks")
            #expect(Self.judge(leased, withAPI: false, isPublished: true) == "grants")
            #expect(Self.judge(leased.told(nil), isPublished: true) == "grants")
            #expect(Self.judge(leased.told(Self.shown()), isPublished: true) == "refuses cancelled")
        }
    }
}
