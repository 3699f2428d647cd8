import NamesAndTimes

/// Apple's word about a refund: made or reversed.
public struct RefundNotice: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
        /// `at` is Apple's time of it; the reason is `.refund` or `.revoke`.
        case revoked(Reason, at: Timestamp)
        case reversed
    }

    /// The notification's; nil where another answer of Apple's shows it.
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

    /// Any answer of Apple's that shows a revocation counts as its notification would, once. Nil where it shows none.
    ///
    /// It is dated as the revocation is: an answer may be older than it looks, and must not undo a reversal since.
    public init?(shownBy transaction: NotifiedTransaction) {
        guard let refunded = transaction.purchase.refunded else { return nil }
        self.init(
            id: nil, change: .revoked(refunded.reason, at: refunded.at), signedAt: refunded.at,
            transaction: transaction)
    }

    public var key: RefundKey { RefundKey(transaction) }
    /// The id of the period that it is about, nil where it is about none.
    public var period: StoreTransactionID? { transaction.period }
    public var transactionID: StoreTransactionID { transaction.purchase.transactionID }
    public var originalTransactionID: StoreTransactionID { transaction.purchase.originalTransactionID }

    /// Nil where it is a reversal.
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

/// The transaction that a refund is of. An id of the sandbox says nothing of a purchase in Production.
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
