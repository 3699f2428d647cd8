import NamesAndTimes

/// A refund that Apple signed, but whose share cannot be read. The worker does not guess the share: it asks Apple for
/// the transaction, and leaves the refund to an operator if the answer is as unclear.
public struct UnreadRefund: Sendable, Equatable {
    /// The notice without the refund.
    public let notice: StoreNotice
    public let reason: Reason
    public let transaction: NotifiedTransaction

    /// The transaction to ask Apple about.
    public var transactionID: StoreTransactionID { transaction.purchase.transactionID }

    /// Returns the notice after Apple's answer; nil if the refunded share is still unknown.
    /// - Parameter answer: the transaction as Apple describes it now; nil if Apple could not be asked or did not
    ///   answer.
    public func notice(after answer: NotifiedTransaction?) -> StoreNotice? {
        guard let answer, RefundKey(answer) == RefundKey(transaction), answer.purchase.unreadable.isEmpty else {
            return nil
        }
        var notice = notice
        // Without a cancellation date, Apple has reversed the refund since.
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
            detail: "its transaction: its \(StorePurchase.refundedPart) cannot be read; the grant stands as it is")
    }
}
