import NamesAndTimes

/// An event of the outcomes topic. If receiptd publishes the event again, the bytes are the same: PostgreSQL stores
/// them, except the bytes of a local rejection.
public struct OutcomeEvent: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case granted = "receipt.granted"
        case rejected = "receipt.rejected"
        case held = "receipt.held"
        case revoked = "receipt.revoked"
        case reinstated = "receipt.reinstated"
        case subscriptionChanged = "subscription.changed"
        case refundRequested = "refund.requested"
    }

    public let eventID: NameBasedUUID
    public let kind: Kind
    /// The event's reason; nil for a grant, and for other events that have none.
    public let reason: Reason?
    public let playerID: PlayerID
    /// The bundle id from the submission or from Apple; nil if receiptd can read neither.
    public let bundleID: BundleID?
    /// The CloudEvents subject: the transaction if the event is about one, the original transaction in a subscription's
    /// event, and otherwise the submission.
    public let subject: Identifier
    public let occurredAt: Timestamp
    /// The risk signals of a grant or a hold.
    public let risk: [RiskSignal]
    /// The record's value: UTF-8 JSON.
    public let value: [UInt8]
    /// The id of the period that a grant pays for (`PeriodIdentity`); nil for every other kind of event. The record has
    /// the id as a header.
    public var period: StoreTransactionID?

    public init(
        eventID: NameBasedUUID, kind: Kind, reason: Reason?, playerID: PlayerID, bundleID: BundleID?,
        subject: Identifier, occurredAt: Timestamp, risk: [RiskSignal] = [], value: [UInt8]
    ) {
        self.eventID = eventID
        self.kind = kind
        self.reason = reason
        self.playerID = playerID
        self.bundleID = bundleID
        self.subject = subject
        self.occurredAt = occurredAt
        self.risk = risk
        self.value = value
    }

    /// Returns the id of the granted, revoked or reinstated event of one revision of a transaction.
    public static func eventID(_ kind: Kind, transaction: StoreTransactionID, revision: Int32) -> NameBasedUUID {
        NameBasedUUID("transaction event", kind.rawValue, transaction.text, String(revision))
    }

    /// Returns the id of a rejected or held event. The id depends on the kind and on the submission's record.
    public static func eventID(_ kind: Kind, submission: NameBasedUUID, position: RecordPosition) -> NameBasedUUID {
        NameBasedUUID(
            "submission event", kind.rawValue, submission.description, position.topic, String(position.partition),
            String(position.offset))
    }

    /// Returns the id of a rejected or held event of a purchase that nobody submitted.
    /// - Parameter timesHeld: the number of earlier holds.
    public static func eventID(
        _ kind: Kind, transaction: StoreTransactionID, timesHeld: Int64
    ) -> NameBasedUUID {
        NameBasedUUID("announced event", kind.rawValue, transaction.text, String(timesHeld))
    }

    /// Returns the id of the rejection that ends a hold. The id depends on the transaction, because one record may
    /// leave several transactions held.
    public static func eventID(
        endOfHold transaction: StoreTransactionID, submission: NameBasedUUID, position: RecordPosition
    ) -> NameBasedUUID {
        NameBasedUUID(
            "hold event", Kind.rejected.rawValue, submission.description, position.topic, String(position.partition),
            String(position.offset), transaction.text)
    }
}

/// The result of one transaction of a submission. An event lists these results.
public struct TransactionOutcome: Sendable, Equatable {
    public enum Outcome: String, Sendable {
        case granted
        case alreadyGranted = "already_granted"
        case rejected
        case held
    }

    public let transactionID: StoreTransactionID
    public let productID: ProductID
    public let outcome: Outcome
    /// The reason of the outcome; nil for a grant.
    public let reason: Reason?
    /// Apple's names of the transaction's unreadable facts, for the event's `detail`. The event's list of transactions
    /// omits these names.
    var unreadable: [String] = []

    public init(transactionID: StoreTransactionID, productID: ProductID, outcome: Outcome, reason: Reason?) {
        self.transactionID = transactionID
        self.productID = productID
        self.outcome = outcome
        self.reason = reason
    }

    public init(_ purchase: StorePurchase, rejectedFor reason: Reason) {
        self.init(
            transactionID: purchase.transactionID, productID: purchase.productID,
            outcome: reason == .alreadyGranted ? .alreadyGranted : .rejected, reason: reason)
    }
}
