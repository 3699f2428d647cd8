import Fulfillment
import NamesAndTimes
import Postgres

/// Writes Apple's answer about a subscription in one SQL transaction. Like a batch of decisions, it locks sorted claims
/// before it changes anything under them.
struct SubscriptionCheckWrite: Sendable {
    private static let rescheduling = LedgerSQL.statement(PackageResources.reschedule_subscription_sql)

    let check: SubscriptionCheck
    let catalog: Catalog

    func run(in session: PostgresSession) throws -> [OutcomeEvent] {
        try session.transaction { session in
            let findings = check.findings
            let claims = try lockClaims(
                with: try findings.revoked + granted(of: findings.shown, in: session), in: session)
            // Another SQL transaction may have granted a purchase before these locks, so the grants are read again.
            let revoked = try findings.revoked + granted(of: findings.shown, in: session)
            var events = try revoke(revoked, under: claims, in: session)
            try ShownRefunds.enter(findings.shown, in: session)
            var facts = findings.facts
            if !check.tellsOfIt, isOwned(claims) { facts.append(SubscriptionFact(again: check.leased.subscription)) }
            events += try SubscriptionWrite.apply(
                facts, with: findings.periods, of: check, at: check.at, catalog: catalog, in: session)
            try AnnouncedWrite.enter(findings.periods, in: session)
            if let receipt = findings.receipt {
                let told = findings.facts.map { ($0.originalTransactionID, receipt) }
                try SubscriptionWrite.keep(Dictionary(told, uniquingKeysWith: { $1 }), in: session)
            }
            // A write of the answer ends the lease. But for a subscription without an owner, nothing was written, so
            // its lease ends here.
            if !isOwned(claims) { try endChecks(in: session) }
            return events
        }
    }

    /// Locks the claims of all named subscriptions and of the subscriptions that they continue. Inserts a missing claim
    /// without an owner. So this SQL transaction and a concurrent grant under one of these claims wait for each other.
    /// The existing claims of other purchases are locked too, if Apple's answer shows a refund of these purchases.
    private func lockClaims(
        with revoked: [NotifiedTransaction], in session: PostgresSession
    ) throws -> [StoreTransactionID: LedgerView.Claim] {
        let findings = check.findings
        var originals: Set = [check.leased.originalTransactionID]
        originals.formUnion(findings.facts.map(\.originalTransactionID))
        originals.formUnion(findings.facts.compactMap(\.previousOriginalTransactionID))
        originals.formUnion(findings.periods.map(\.purchase.originalTransactionID))
        originals.formUnion(findings.periods.compactMap(\.previousOriginalTransactionID))
        originals.formUnion(revoked.map(\.purchase.originalTransactionID))
        originals.formUnion(revoked.compactMap(\.period))
        let sorted = originals.sorted()
        // All originals are of the subscription's app, because Apple's answer is about no other app.
        let fresh = try InsertClaims.run(
            sorted.map {
                ClaimRow(original: $0, player: nil, bundleID: check.leased.bundleID, grantedTransaction: nil)
            }, in: session)
        let shown = Set(findings.shown.flatMap { [$0.purchase.originalTransactionID] + [$0.period].compactMap(\.self) })
        return try LockClaims.run(originals.union(shown).subtracting(fresh).sorted(), in: session)
    }

    /// Returns the transactions whose grants are in force. Leaves out a period that was never granted, because Apple's
    /// notification of its refund, or of the reversal, may still come.
    private func granted(
        of shown: [NotifiedTransaction], in session: PostgresSession
    ) throws -> [NotifiedTransaction] {
        let ids = Set(shown.map(\.purchase.transactionID)).sorted()
        let grants = try FindGrants.run(ids, submissions: [], in: session)
        return shown.filter { grants[$0.purchase.transactionID].map { !$0.isRevoked } ?? false }
    }

    /// Revokes grants whose refunds Apple's answer shows, as if Apple's notifications had reported these refunds. A
    /// refund that was reported before changes nothing.
    private func revoke(
        _ revoked: [NotifiedTransaction], under claims: [StoreTransactionID: LedgerView.Claim],
        in session: PostgresSession
    ) throws -> [OutcomeEvent] {
        let shown = revoked.compactMap(RefundNotice.init(shownBy:))
        let refunds = shown.map { TakenRefund($0, at: check.at, topic: "", partition: 0, traceparent: nil) }
        let effects = try RefundWrite(refunds: refunds, claims: claims, catalog: catalog).run(in: session)
        return effects.compactMap { if case .published(let event) = $0 { event } else { nil } }
    }

    /// Returns whether the subscription has an owner who gets its events. Without an owner, no worker checks it again
    /// before another fact about it comes.
    private func isOwned(_ claims: [StoreTransactionID: LedgerView.Claim]) -> Bool {
        claims[check.leased.originalTransactionID]?.player.map { !$0.isPseudonym } ?? false
    }

    /// Ends the lease, and sets no further check. Does nothing if the lease is over.
    private func endChecks(in session: PostgresSession) throws {
        try session.execute(
            Self.rescheduling,
            [
                .text(check.leased.originalTransactionID.text), .timestamptz(unixMicroseconds: check.leased.lease),
                .float8(nil), .bool(true),
            ])
    }
}
