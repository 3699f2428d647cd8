import NamesAndTimes

/// Apple's report that it made or reversed a refund.
public struct RefundNotice: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
        /// Apple made a refund at `at`. The reason is `.refund` or `.revoke`.
        case revoked(Reason, at: Timestamp)
        case reversed
    }

    /// The notification's id; nil if another of Apple's answers shows the refund.
    public let id: Identifier?
    public let change: Change
    public let signedAt: Timestamp
    public let transaction: NotifiedTransaction

    public init(id: Identifier?, change: Change, signedAt: Timestamp, transaction: NotifiedTransaction) {
        self.id = id
        self.change = change
        self.signedAt = signedAt
        self.transaction = transaction
    }

    /// Makes the notice of a refund that another of Apple's answers shows. It counts once, as a notification would.
    /// Returns nil if the transaction shows no refund.
    ///
    /// The notice has the refund's own date. An answer may be old, and must not undo a later reversal.
    public init?(shownBy transaction: NotifiedTransaction) {
        guard let refunded = transaction.purchase.refunded else { return nil }
        self.init(
            id: nil, change: .revoked(refunded.reason, at: refunded.at), signedAt: refunded.at,
            transaction: transaction)
    }

    public var key: RefundKey { RefundKey(transaction) }
    /// The id of the paid subscription period; nil if the transaction pays for none.
    public var period: StoreTransactionID? { transaction.period }
    public var transactionID: StoreTransactionID { transaction.purchase.transactionID }
    public var originalTransactionID: StoreTransactionID { transaction.purchase.originalTransactionID }

    /// The refund; nil if the notice reports a reversal.
    var refunded: GrantRevocations.Revocation? {
        guard case .revoked(let reason, let time) = change else { return nil }
        return GrantRevocations.Revocation(
            at: time, reason: reason, milliPercent: reason == .revoke ? nil : transaction.refundedMilliPercent)
    }
}

extension RefundNotice {
    var word: RefundWord {
        guard let refunded else {
            return RefundWord(time: signedAt, total: transaction.purchase.refunded, isReversal: true)
        }
        return id == nil ? RefundWord(shown: refunded) : RefundWord(time: signedAt, total: refunded)
    }
}

/// The refunded transaction's key. A refund in the sandbox never counts against a purchase in Production.
public struct RefundKey: Sendable, Hashable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment

    public init(transactionID: StoreTransactionID, bundleID: BundleID, environment: StoreEnvironment) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.environment = environment
    }

    init(_ transaction: NotifiedTransaction) {
        self.init(
            transactionID: transaction.purchase.transactionID, bundleID: transaction.bundleID,
            environment: transaction.environment)
    }
}
