import Fulfillment
import NamesAndTimes

extension AnnouncedRows {
    /// Stores refunds that Apple's answer about another purchase lists.
    mutating func enter(_ shown: [NotifiedTransaction]) {
        for refund in shown {
            let id = refund.purchase.transactionID
            guard let row = rows[id], row.hasEvidence, !row.suspicion.isSuspect,
                row.reason != UnclaimedReason.crashed.rawValue,
                let purchase = row.purchase.refunded(by: refund)
            else { continue }
            rows[id]?.purchase = purchase
            rows[id]?.lease = nil
        }
    }
}

extension AnnouncedPurchase {
    fileprivate func refunded(by shown: NotifiedTransaction) -> AnnouncedPurchase? {
        var purchase = evidence.refunded(by: shown, since: toldAt).flatMap { evidence in
            AnnouncedPurchase(
                evidence: evidence, source: source, submissionID: submissionID.text, toldAt: toldAt,
                isRenewal: isRenewal)
        }
        purchase?.graceExpiresAt = graceExpiresAt
        purchase?.previousOriginalTransactionID = previousOriginalTransactionID
        return purchase
    }
}

extension HoldRow {
    /// Stores the refund of a held announced purchase.
    fileprivate mutating func enter(_ shown: NotifiedTransaction) {
        guard decision.announced != nil, !suspicion.isSuspect else { return }
        let evidence = GenuineReceipt(
            bundleID: decision.submission.bundleID, environment: decision.environment, purchases: [purchase])
        guard let newest = evidence.refunded(by: shown, since: decision.position.timestamp)?.purchases.first
        else { return }
        purchase = newest
        lease = nil
    }
}

extension InMemoryLedger.State {
    /// Stores refunds of purchases that have no grant and that nobody submitted.
    mutating func enter(_ shown: [NotifiedTransaction]) {
        announced.enter(shown)
        for refund in shown {
            for key in holds.keys where key.transaction == refund.purchase.transactionID {
                holds[key]?.enter(refund)
            }
        }
    }

    /// Returns true if a worker published a grant of the purchase, and the database lost the grant.
    func isPublished(_ told: AnnouncedPurchase) -> Bool {
        view.claims[told.purchase.originalTransactionID]?.names(told.purchase.transactionID) ?? false
    }
}
