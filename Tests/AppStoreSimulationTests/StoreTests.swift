import Foundation
import Testing

@testable import AppStoreSimulation

@Suite("The store behind the simulated App Store")
struct StoreTests {
    /// Returns `TYPE/SUBTYPE` of every notification.
    private static func told(_ store: SimulatedStore) -> [String] {
        store.notifications.map { kept in
            kept.notification.type + (kept.notification.subtype.map { "/\($0)" } ?? "")
        }
    }

    private static func state(_ store: SimulatedStore, _ id: String) throws -> String {
        try store.subscription(id).state(at: store.now).rawValue
    }

    @Test(
        "a simulated subscription renews without a gap, recovers from grace, and ends if the customer turns renewal off"
    )
    func life() throws {
        var store = StoreBed.store()
        let first = try store.buy("vip", by: StoreBed.lena, SimulatedTerms(accountToken: StoreBed.token))
        store.now += 30 * StoreBed.day
        let second = try store.renew(first.id)
        #expect(second.purchasedAt == first.expiresAt && second.originalID == first.id && second.isRenewal)
        #expect(second.terms.accountToken == StoreBed.token)
        store.now += 30 * StoreBed.day
        try store.failToRenew(first.id)
        #expect(try Self.state(store, first.id) == "grace_period")
        store.now += 2 * StoreBed.day
        let third = try store.renew(first.id)
        #expect(third.purchasedAt == second.expiresAt)
        try store.setRenewal(of: first.id, isOn: false)
        #expect(try Self.state(store, first.id) == "active")
        store.now = try #require(third.expiresAt)
        #expect(try Self.state(store, first.id) == "expired")
        try store.expire(first.id)
        #expect(try Self.state(store, first.id) == "expired")
        store.now += 10 * StoreBed.day
        let again = try store.buy("vip", by: StoreBed.lena)
        #expect(again.originalID == first.id && again.purchasedAt == store.now && !again.isRenewal)
        #expect(try Self.state(store, first.id) == "active")
        #expect(
            Self.told(store) == [
                "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_RENEW/BILLING_RECOVERY",
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE",
            ])
        #expect(try store.subscription(first.id).periods == [first.id, second.id, third.id, again.id])
    }

    @Test("after grace a simulated subscription enters billing retry, and then starts a new period or expires")
    func billingRetry() throws {
        var store = StoreBed.store()
        let first = try store.buy("vip", by: StoreBed.lena)
        store.now += 30 * StoreBed.day
        try store.failToRenew(first.id)
        store.now += 6 * StoreBed.day
        #expect(try Self.state(store, first.id) == "billing_retry")
        try store.endGrace(first.id)
        store.now += StoreBed.day
        let recovered = try store.renew(first.id)
        #expect(recovered.purchasedAt == store.now)
        store.now = try #require(recovered.expiresAt)
        try store.failToRenew(first.id)
        store.now += 60 * StoreBed.day
        try store.expire(first.id, .billingError)
        #expect(try Self.state(store, first.id) == "expired")
        #expect(Self.told(store).suffix(2) == ["DID_FAIL_TO_RENEW/GRACE_PERIOD", "EXPIRED/BILLING_RETRY"])
    }

    @Test("a simulated upgrade begins immediately and ends the old period; a downgrade begins with the next renewal")
    func plans() throws {
        var store = StoreBed.store()
        let first = try store.buy("vip", by: StoreBed.lena)
        store.now += 5 * StoreBed.day
        let upgraded = try store.upgrade(first.id, to: "vip.gold")
        #expect(
            upgraded.purchasedAt == store.now && upgraded.originalID == first.id && upgraded.product.id == "vip.gold")
        #expect(store.transactions[first.id]?.upgradedAt == store.now)
        #expect(try StoreBedClaims.isUpgraded(store, first.id))
        try store.downgrade(first.id, to: "vip")
        try store.downgrade(first.id, to: "vip.gold")
        try store.downgrade(first.id, to: "vip")
        #expect(try store.subscription(first.id).product.id == "vip.gold")
        store.now = try #require(upgraded.expiresAt)
        #expect(try store.renew(first.id).product.id == "vip")
        #expect(
            Self.told(store) == [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
                "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_RENEW",
            ])
    }

    @Test("if a simulated period gets a second transaction id, a refund of this id and its reversal apply to both ids")
    func conversion() throws {
        var store = StoreBed.store()
        let first = try store.buy("vip", by: StoreBed.lena)
        let copy = try store.convert(first.id, namesPrevious: true)
        #expect(copy.id != first.id && copy.originalID == copy.id && copy.line == first.line)
        #expect(copy.purchasedAt == first.purchasedAt && copy.expiresAt == first.expiresAt)
        #expect(copy.terms.previousOriginalTransactionID == first.originalID)
        try store.refund(copy.id)
        #expect(store.transactions[first.id]?.revocation != nil)
        try store.reverseRefund(of: copy.id)
        #expect(store.transactions[first.id]?.revocation == nil)
    }

    @Test("in the simulated store a partial refund can grow to a full one, and a reversal undoes only the last part")
    func refunds() throws {
        var store = StoreBed.store()
        let gems = try store.buy("gems", by: StoreBed.lena, SimulatedTerms(quantity: 3))
        try store.requestRefund(of: gems.id, reason: "FULFILLMENT_ISSUE")
        try store.refund(gems.id, milliPercent: 33_333)
        #expect(throws: SimulatedStore.Fault.alreadyRefunded(gems.id)) {
            try store.refund(gems.id, milliPercent: 33_333)
        }
        try store.refund(gems.id)
        #expect(store.transactions[gems.id]?.revocation?.type == "REFUND_FULL")
        try store.reverseRefund(of: gems.id)
        #expect(store.transactions[gems.id]?.revocation?.milliPercent == 33_333)
        try store.reverseRefund(of: gems.id)
        #expect(store.transactions[gems.id]?.revocation == nil)
        #expect(throws: SimulatedStore.Fault.notRefunded(gems.id)) { try store.reverseRefund(of: gems.id) }
        #expect(throws: SimulatedStore.Fault.notFamilyShared(gems.id)) { try store.revoke(gems.id) }
        var shared = SimulatedTerms()
        shared.ownership = "FAMILY_SHARED"
        let vip = try store.buy("vip", by: StoreBed.lena, shared)
        try store.revoke(vip.id)
        #expect(try Self.state(store, vip.id) == "revoked")
        #expect(
            Self.told(store) == [
                "ONE_TIME_CHARGE", "CONSUMPTION_REQUEST", "REFUND", "REFUND", "REFUND_REVERSED", "REFUND_REVERSED",
                "SUBSCRIBED/INITIAL_BUY",
                "REVOKE",
            ])
        #expect(store.notifications[1].notification.consumptionRequestReason == "FULFILLMENT_ISSUE")
        #expect(store.notifications[7].notification.status == 5)
    }

    @Test(
        "the simulated store gives the same ids for the same calls, and notifies no app without a notification address")
    func determinism() throws {
        func play() throws -> SimulatedStore {
            var store = StoreBed.store()
            try store.buy("gems", by: StoreBed.lena)
            try store.buy("vip", by: StoreBed.lena)
            return store
        }
        let (one, other) = (try play(), try play())
        #expect(one.notifications.map(\.notification.id) == other.notifications.map(\.notification.id))
        #expect(Set(one.notifications.map(\.notification.id)).count == 2)
        #expect(one.transactions == other.transactions)
        #expect(throws: SimulatedStore.Fault.self) {
            var store = one
            try store.buy("vip", by: StoreBed.lena)
        }
        var silent = StoreBed.store()
        var app = StoreBed.app
        app.hasNotificationURL = false
        silent.add(app)
        try silent.buy("gems", by: StoreBed.lena)
        #expect(silent.notifications.isEmpty)
    }
}

private enum StoreBedClaims {
    static func isUpgraded(_ store: SimulatedStore, _ id: String) throws -> Bool {
        let text = try store.transaction(id).claims(signedAt: store.now)
        let claims = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        return claims["isUpgraded"] as? Bool ?? false
    }
}
