import NamesAndTimes

/// A refund that Apple signed, but whose share cannot be read. It counts neither as a whole refund nor as none: the
/// worker asks Apple for the transaction, and leaves it to an operator if the answer is as unclear.
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
        // Apple's newest word: one that was reversed since is none.
        if let time = answer.purchase.cancelledAt {
            notice.refund = RefundNotice(
                id: notice.id, change: .revoked(reason, at: time), signedAt: notice.signedAt, transaction: answer)
        }
        return notice
    }

    /// The dead letter if no answer helps.
    public var deadLetter: DeadLetter {
        DeadLetter(
            reason: .malformedMessage,
            detail: "its transaction: its \(StorePurchase.refundedPart) cannot be read; the grant stands as it is")
    }
}
