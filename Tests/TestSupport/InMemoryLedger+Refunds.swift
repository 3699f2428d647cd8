import Fulfillment
import Synchronization

extension InMemoryLedger: RefundLedger {
    public func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<[AppliedNotice]> {
        Durable(state.withLock { state in notices.map { .applied(state.settle($0, catalog)) } }, in: nil)
    }
}

extension InMemoryLedger.State {
    /// So that a refund finds it.
    mutating func enter(_ grant: Settlement.NewGrant, of decision: PendingDecision) {
        let purchase = grant.purchase
        refunds.grants[purchase.transactionID] = GrantedPurchase(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            player: decision.submission.playerID, bundleID: decision.submission.bundleID,
            productID: purchase.productID, quantity: purchase.quantity, environment: decision.environment,
            purchasedAt: purchase.purchasedAt, expiresAt: purchase.expiresAt,
            submissionID: decision.submission.submissionID, event: grant.event.value)
        if grant.kind == .nonConsumable {
            refunds.grantedUnder[purchase.originalTransactionID] = purchase.transactionID
        }
    }

    fileprivate mutating func settle(_ received: ReceivedNotice, _ catalog: Catalog) -> RefundEffect {
        let notice = received.notice
        let effect = notice.settle(in: &refunds, at: received.decidedAt, catalog: catalog)
        view.refunds[notice.key] = refunds.states[notice.key]?.revokedAt
        guard case .published(let event) = effect else { return effect }
        let granted = refunds.grants[notice.transactionID]?.transactionID
        if let transaction = granted ?? refunds.grantedUnder[notice.originalTransactionID] {
            let isRevoked = refunds.grants[transaction]?.revokedAt != nil
            view.grants[transaction]?.isRevoked = isRevoked
            if refunds.grantedUnder[notice.originalTransactionID] == transaction {
                view.claims[notice.originalTransactionID]?.grantedTransaction = isRevoked ? nil : transaction
            }
        }
        let partition = InMemoryLedger.Partition(topic: received.topic, number: received.partition)
        outbox.append(OutboxRow(event, traceparent: received.traceparent, of: partition))
        return effect
    }
}
