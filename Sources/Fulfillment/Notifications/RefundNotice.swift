/// What Apple says of a refund: made or reversed.
public struct RefundNotice: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
        /// `at` is Apple's time of it; the reason is `.refund` or `.revoke`.
        case revoked(Reason, at: Timestamp)
        case reversed
    }

    public let id: Identifier
    public let change: Change
    public let signedAt: Timestamp
    public let transaction: NotifiedTransaction

    public init(id: Identifier, change: Change, signedAt: Timestamp, transaction: NotifiedTransaction) {
        self.id = id
        self.change = change
        self.signedAt = signedAt
        self.transaction = transaction
    }

    public var key: RefundKey { RefundKey(transaction) }
    public var transactionID: StoreTransactionID { transaction.purchase.transactionID }
    public var originalTransactionID: StoreTransactionID { transaction.purchase.originalTransactionID }
}

/// What a refund is of. An id of the sandbox says nothing of a purchase in Production.
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

/// What is to be done with a notification.
public enum NotificationVerdict: Sendable, Equatable {
    case refund(RefundNotice)
    /// A type that changes nothing here, a test among them.
    case unconcerned
    case deadLetter(DeadLetter)
}

extension StoreNotification {
    /// The types that change what a player has.
    public enum RefundType: String, Sendable, CaseIterable {
        case refund = "REFUND"
        /// Family sharing ended, or Apple took it back for another reason.
        case revoke = "REVOKE"
        case reversed = "REFUND_REVERSED"
    }

    /// - Parameter catalog: decides only whether Apple's app id is the right one. A refund in an app that the catalog
    ///   does not have is taken all the same: the transaction may be submitted once it does.
    public func verdict(under catalog: Catalog) -> NotificationVerdict {
        guard let type = RefundType(rawValue: type) else { return .unconcerned }
        let told: NotifiedTransaction
        switch transaction {
        case .none: return Self.deadLetter("the notification has no transaction")
        case .unusable(let why): return Self.deadLetter("its transaction: \(why)")
        case .told(let transaction): told = transaction
        }
        guard told.bundleID == bundleID, told.environment == environment else {
            return Self.deadLetter("the transaction is of another app or environment than the notification")
        }
        if let app = catalog.apps[told.bundleID], app.isForeign(told.bundleID, appAppleID, in: told.environment) {
            return Self.deadLetter("the Apple id is another app's")
        }
        let change: RefundNotice.Change =
            switch type {
            case .refund: .revoked(.refund, at: told.purchase.cancelledAt ?? signedAt)
            case .revoke: .revoked(.revoke, at: told.purchase.cancelledAt ?? signedAt)
            case .reversed: .reversed
            }
        return .refund(RefundNotice(id: id, change: change, signedAt: signedAt, transaction: told))
    }

    private static func deadLetter(_ detail: String) -> NotificationVerdict {
        .deadLetter(DeadLetter(reason: .malformedMessage, detail: detail))
    }
}
