import Fulfillment

extension InMemoryLedger: NoticeLedger {
    public func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<AppliedNotices> {
        let effects = state.update { state in notices.map { AppliedNotice.applied(state.settle($0, catalog)) } }
        return Durable(AppliedNotices(effects: effects), in: nil)
    }
}

extension InMemoryLedger.State {
    /// Adds a grant, so that a later refund finds it.
    mutating func enter(_ grant: Settlement.NewGrant, of decision: PendingDecision) {
        let purchase = grant.purchase
        let granted = GrantedPurchase(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            player: decision.submission.playerID, bundleID: decision.submission.bundleID,
            productID: purchase.productID, quantity: purchase.quantity, environment: decision.environment,
            purchasedAt: purchase.purchasedAt, expiresAt: purchase.expiresAt,
            submissionID: decision.submission.submissionID, event: grant.event.value)
        refunds.grants[purchase.transactionID] = grant.revocation?.grant ?? granted
        if let finish = decision.finish(of: grant) { enter(finish, of: decision) }
        if grant.kind == .nonConsumable {
            refunds.grantedUnder[purchase.originalTransactionID] = purchase.transactionID
        }
        if let period = decision.period(of: grant) { refunds.grantedUnder[period] = purchase.transactionID }
    }

    /// Stores a refund under every id of its period, or under its original transaction, so that later grants find the
    /// refund.
    private mutating func noteRefund(_ notice: RefundNotice) {
        guard let known = refunds.states[notice.key] else { return }
        var keys = [notice.key]
        if let period = notice.period {
            keys += refunds.states.filter { $0.value.period == period }.map(\.key)
            keys.append(
                RefundKey(
                    transactionID: period, bundleID: notice.transaction.bundleID,
                    environment: notice.transaction.environment))
        }
        if let original = notice.originalKey { keys.append(original) }
        for key in keys { view.refunds[key] = known }
    }

    fileprivate mutating func settle(_ received: ReceivedNotice, _ catalog: Catalog) -> NoticeEffect {
        guard let notice = received.notice.refund else {
            guard refunds.taken.insert(received.notice.id).inserted else { return .duplicate }
            return NoticeEffect(of: received.notice, refund: nil)
        }
        let effect = notice.settle(in: &refunds, at: received.decidedAt, catalog: catalog)
        noteRefund(notice)
        guard case .published(let event) = effect else { return NoticeEffect(of: received.notice, refund: effect) }
        let granted = refunds.grants[notice.transactionID]?.transactionID
        if let transaction = granted ?? refunds.grantedUnder[notice.period ?? notice.originalTransactionID] {
            let isRevoked =
                refunds.grants[transaction].map { $0.revocations.revokedUnits(of: $0.quantity) >= $0.quantity } ?? false
            view.grants[transaction]?.isRevoked = isRevoked
            if refunds.grantedUnder[notice.originalTransactionID] == transaction {
                view.claims[notice.originalTransactionID]?.grantedTransaction = isRevoked ? nil : transaction
            }
        }
        let partition = InMemoryLedger.Partition(topic: received.topic, number: received.partition)
        outbox.append(OutboxRow(event, traceparent: received.traceparent, of: partition))
        return NoticeEffect(of: received.notice, refund: effect)
    }
}
