import NamesAndTimes

/// A signed refund whose share receiptd cannot read. The worker asks Apple for the transaction. If the share is
/// unreadable in Apple's answer too, the worker leaves the refund to an operator.
public struct UnreadRefund: Sendable, Equatable {
    /// The notice without the refund.
    public let notice: StoreNotice
    public let reason: Reason
    public let transaction: NotifiedTransaction

    /// The transaction to ask Apple about.
    public var transactionID: StoreTransactionID { transaction.purchase.transactionID }

    /// Returns the notice after Apple's answer; nil if the refunded share is still unknown.
    /// - Parameter answer: the transaction as Apple describes it now; nil if receiptd could not ask, or Apple did not
    ///   answer.
    public func notice(after answer: NotifiedTransaction?) -> StoreNotice? {
        guard let answer, RefundKey(answer) == RefundKey(transaction), answer.purchase.unreadable.isEmpty else {
            return nil
        }
        var notice = notice
        // If there is no cancellation date, Apple has reversed the refund.
        if let time = answer.purchase.cancelledAt {
            notice.refund = RefundNotice(
                id: notice.id, change: .revoked(reason, at: time), signedAt: notice.signedAt, transaction: answer)
        }
        return notice
    }

    /// The dead letter of a notification whose refunded share stays unknown.
    public var deadLetter: DeadLetter {
        DeadLetter(
            reason: .malformedMessage,
            detail: "the transaction's \(StorePurchase.refundedPart) cannot be read; the grant does not change")
    }
}
