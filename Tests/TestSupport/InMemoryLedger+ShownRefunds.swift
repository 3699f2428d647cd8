import Fulfillment
import NamesAndTimes

extension AnnouncedRows {
    /// Enters refunds that another answer of Apple's shows.
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

extension InMemoryLedger.State {
    /// Whether it was published as granted, and the grant is lost.
    func isPublished(_ told: AnnouncedPurchase) -> Bool {
        view.claims[told.purchase.originalTransactionID]?.names(told.purchase.transactionID) ?? false
    }
}
