import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Refunds with unreadable fields")
struct UnreadRefundTests {
    private static func told(_ fields: String..., milliPercent: Int32? = nil) -> NotifiedTransaction {
        var told = RefundTests.told(milliPercent: milliPercent)
        told.purchase.unreadable = fields
        return told
    }

    private func verdict(
        _ type: String, _ transaction: StoreNotification.Transaction, renewal: SignedPart<RenewalInfo> = .none
    ) -> NotificationVerdict {
        var notification = RefundTests.notification(type, transaction)
        notification.renewal = renewal
        return notification.verdict(under: RefundTests.catalog, from: .notification)
    }

    private func refund(_ verdict: NotificationVerdict) -> RefundNotice? {
        if case .taken(let notice) = verdict { notice.refund } else { nil }
    }

    @Test(
        "if a refund's share is unreadable, the worker asks Apple, and uses only a readable answer about the purchase")
    func part() throws {
        guard case .needsPart(let unread) = verdict("REFUND", .told(Self.told("revocationPercentage"))) else {
            Issue.record("it is not asked")
            return
        }
        #expect(unread.transactionID == "1000" && unread.notice.refund == nil)
        let half = Self.told(milliPercent: 50_000)
        let notice = try #require(unread.notice(after: half)?.refund)
        #expect(notice.change == .revoked(.refund, at: RefundTests.refundedAt))
        #expect(notice.transaction.refundedMilliPercent == 50_000 && notice.id == "n-1")
        // Apple's answer shows no refund, so Apple has reversed the refund since.
        let reversed = try #require(unread.notice(after: RefundTests.told(revokedAt: nil)))
        #expect(reversed.refund == nil && reversed.id == "n-1")
        var other = half
        other.environment = .sandbox
        for answer in [nil, Self.told("revocationPercentage"), Self.told("quantity"), other, RefundTests.told("7")] {
            #expect(unread.notice(after: answer) == nil)
        }
        #expect(unread.deadLetter.reason == .malformedMessage)
        #expect(unread.deadLetter.detail.contains("revocationPercentage"))
    }

    @Test("a refund notification counts even if other fields of the purchase or of the renewal info are unreadable")
    func otherFacts() {
        for field in ["quantity", "expiresDate", "purchaseDate", "type", "signedDate", "revocationDate"] {
            #expect(refund(verdict("REFUND", .told(Self.told(field))))?.change != nil, "\(field)")
        }
        for type in ["REVOKE", "REFUND_REVERSED"] {
            #expect(refund(verdict(type, .told(Self.told("revocationPercentage")))) != nil, "\(type)")
        }
        #expect(refund(verdict("REFUND", .told(Self.told()), renewal: .unreadable("why"))) != nil)
    }

    @Test("a notification with an unreadable transaction or unproven renewal info is a dead letter, even a REFUND")
    func deadLetters() {
        let wrong = [
            verdict("REFUND", .unreadable("its transactionId cannot be read")),
            verdict("REFUND", .told(Self.told()), renewal: .unusable("why")),
            verdict("REFUND", .told(Self.told()), renewal: .notProvable("why")),
            verdict("DID_RENEW", .told(Self.told()), renewal: .unreadable("why")),
        ]
        for verdict in wrong {
            guard case .deadLetter(let letter) = verdict else {
                Issue.record("taken: \(verdict)")
                continue
            }
            #expect(letter.reason == .malformedMessage)
        }
    }

    @Test("if Apple's answer shows a refund with an unreadable share, this answer by itself revokes nothing")
    func shown() {
        #expect(RefundNotice(shownBy: Self.told("revocationPercentage")) == nil)
        #expect(RefundNotice(shownBy: Self.told("quantity")) != nil)
    }

    @Test("an announced purchase with unreadable fields lists the unreadable fields and gives no subscription fact")
    func announced() throws {
        guard case .taken(let notice) = verdict("ONE_TIME_CHARGE", .told(Self.told("quantity"))) else {
            Issue.record("it is not taken")
            return
        }
        #expect(notice.purchase?.purchase.unreadable == ["quantity"] && notice.fact == nil)
    }
}
