import NamesAndTimes

/// An announced purchase under a lease. No other replica takes the purchase before the lease is over.
public struct LeasedAnnouncement: Sendable {
    /// The end of the lease, in PostgreSQL's microseconds. Each later lease of the purchase has a different end.
    public typealias Lease = Int64

    public private(set) var purchase: AnnouncedPurchase
    /// The number of earlier holds of the purchase. An operator ended each of these holds with a refusal.
    public let timesHeld: Int32
    public let lease: Lease
    /// True if a worker published a grant of the purchase, and the database then lost the grant. receiptd finds this by
    /// the claim (the owner's row) of the original transaction. This claim names no renewal, so the value is always
    /// false for a renewal.
    public let isPublished: Bool
    /// True if the worker has asked Apple for the transaction by its id under this lease.
    private var wasAsked = false

    public init(purchase: AnnouncedPurchase, timesHeld: Int32, lease: Lease, isPublished: Bool = false) {
        self.purchase = purchase
        self.timesHeld = timesHeld
        self.lease = lease
        self.isPublished = isPublished
    }

    /// The leased purchase without its refund, which Apple has reversed.
    public var withoutRevocation: LeasedAnnouncement {
        var one = self
        one.purchase = purchase.withoutRevocation
        return one
    }

    /// Returns whether the worker must ask Apple for the transaction by its id before the worker decides. Each of these
    /// cases suffices:
    /// - receiptd cannot read a fact of the purchase.
    /// - Apple refunded the purchase after the announcement, and receiptd may have missed a reversal of the refund.
    /// - The database lost a published grant, and perhaps a refund too.
    public func isToBeAsked(under app: AppPolicy) -> Bool {
        let isDoubtful = isPublished || isShownRefunded || !purchase.purchase.unreadable.isEmpty
        return isDoubtful && mayBeAsked(under: app)
    }

    func mayBeAsked(under app: AppPolicy) -> Bool { !wasAsked && app.serverAPI != nil }

    /// True if Apple refunded the purchase, or a part of it, after the announcement.
    var isShownRefunded: Bool { purchase.purchase.cancelledAt.map { $0 > purchase.toldAt } ?? false }

    /// Returns the purchase after the worker asked Apple for the transaction.
    /// - Parameter answer: the transaction as Apple describes it now; nil if Apple does not know the transaction, or if
    ///   receiptd cannot ask Apple. If `answer` is nil, the worker holds a purchase with an unreadable fact, and a
    ///   refund after the announcement counts.
    public func told(_ answer: NotifiedTransaction?) -> LeasedAnnouncement {
        var one = self
        one.wasAsked = true
        if let answer { one.purchase = purchase.told(by: answer) }
        return one
    }

    /// The topic in `position`. Kafka allows no topic with this name, so no real record has the same position.
    public static let topic = "(announced)"

    /// The position that receiptd stores in place of a Kafka record's, because no record brought the purchase.
    public var position: RecordPosition {
        RecordPosition(
            topic: Self.topic, partition: 0, offset: Int64(timesHeld), timestamp: purchase.toldAt,
            content: Digest256(hashing: Array(purchase.purchase.transactionID.text.utf8)))
    }
}

/// The result of one announced purchase.
public struct AnnouncedOutcome: Sendable, Equatable {
    /// Label values of `receiptd_announced_total{outcome}`.
    public enum State: String, Sendable, CaseIterable {
        /// The player already has the purchase, or a hold of the purchase, from a submission or from another system.
        case claimed
        case granted
        case held
        /// The rules refuse the purchase. There is no event, because nobody submitted the purchase.
        case refused
        case unclaimed
        /// The purchase is unclaimed, and the catalog says not to list the app's missed purchases.
        case ignored
    }

    public let transactionID: StoreTransactionID
    public let source: PurchaseSource
    public let state: State
    /// The code of a `Reason` or an `UnclaimedReason`; nil if there is none.
    public let reason: String?
    public let player: PlayerID?
    /// The event of a grant or a hold; nil for other outcomes.
    public let event: OutcomeEvent?
    /// The event that revokes or reinstates the grant, which the worker publishes right after the grant
    /// (`Settlement.Revocation`); nil if there is none.
    public var revocation: OutcomeEvent?
    /// The events about changes of the purchase's subscription.
    public var subscriptions: [OutcomeEvent] = []

    public init(
        of purchase: AnnouncedPurchase, _ state: State, reason: String? = nil, player: PlayerID? = nil,
        event: OutcomeEvent? = nil
    ) {
        transactionID = purchase.purchase.transactionID
        source = purchase.source
        self.state = state
        self.reason = reason
        self.player = player
        self.event = event
    }
}

extension AnnouncedOutcome {
    /// The events of the purchase itself, in publishing order.
    public var owned: [OutcomeEvent] { [event, revocation].compactMap(\.self) }
    /// All events to publish, first those of the purchase.
    public var events: [OutcomeEvent] { owned + subscriptions }

    /// Makes the outcome of a purchase whose owner is erased.
    public init(erased purchase: AnnouncedPurchase, _ pseudonym: PlayerID) {
        self.init(of: purchase, .refused, reason: "player_erased", player: pseudonym)
    }
}

/// The reason why a purchase is unclaimed. The player may still get the purchase after a submission, a record of
/// `player-accounts` or a new catalog.
public enum UnclaimedReason: String, Sendable, CaseIterable {
    case unknownApp = "unknown_app"
    /// The purchase has no owner, and neither `player-accounts` nor the catalog names a player for its token.
    case unknownPlayer = "unknown_player"
    /// The catalog does not let receiptd grant the app's missed purchases, which nobody submitted.
    case notDelivered = "not_delivered"
    /// The purchase is older than the first catalog that granted missed purchases, or than the app's cutover (the time
    /// from which receiptd is responsible).
    case boughtBefore = "bought_before"
    /// receiptd cannot read the stored purchase, or the database refuses its data.
    case unreadable
    /// Several workers died while they worked on the purchase.
    case crashed
}

extension LeasedAnnouncement {
    /// Returns the purchase's outcome.
    public func outcome(of settlement: Settlement, for decision: PendingDecision) -> AnnouncedOutcome {
        let player = decision.submission.playerID
        if let grant = settlement.grants.first {
            var outcome = AnnouncedOutcome(of: purchase, .granted, player: player, event: grant.event)
            outcome.revocation = grant.revocation?.event
            return outcome
        }
        let reason = settlement.outcomes.first?.reason
        if !settlement.holds.isEmpty {
            return AnnouncedOutcome(
                of: purchase, .held, reason: reason?.rawValue, player: player, event: settlement.answer)
        }
        // The player already has the purchase, from a submission or from another system. If `repeated` has the
        // purchase, the player has its period by another transaction.
        switch settlement.outcomes.first?.outcome {
        case .alreadyGranted where !settlement.repeated.isEmpty:
            return AnnouncedOutcome(of: purchase, .refused, reason: reason?.rawValue, player: player)
        case .alreadyGranted, .held, .granted: return AnnouncedOutcome(of: purchase, .claimed, player: player)
        case .rejected, nil:
            return AnnouncedOutcome(of: purchase, .refused, reason: reason?.rawValue, player: player)
        }
    }
}
