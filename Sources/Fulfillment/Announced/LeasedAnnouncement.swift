import NamesAndTimes

/// An announced purchase, under a lease: no other replica takes it before the lease is over.
public struct LeasedAnnouncement: Sendable {
    /// The end of the lease in PostgreSQL's microseconds. It distinguishes this lease from a later one.
    public typealias Lease = Int64

    public private(set) var purchase: AnnouncedPurchase
    /// The number of earlier holds of the purchase. An operator refused each of them to the player.
    public let timesHeld: Int32
    public let lease: Lease
    /// True if the purchase's grant was published and the database lost it. Always false for a renewal, because the
    /// claim of its original transaction names no particular renewal.
    public let isPublished: Bool
    /// True if Apple was asked for the transaction by its id under this lease.
    private var wasAsked = false

    public init(purchase: AnnouncedPurchase, timesHeld: Int32, lease: Lease, isPublished: Bool = false) {
        self.purchase = purchase
        self.timesHeld = timesHeld
        self.lease = lease
        self.isPublished = isPublished
    }

    /// The same purchase without its revocation, for a refund that Apple has reversed since.
    public var withoutRevocation: LeasedAnnouncement {
        var one = self
        one.purchase = purchase.withoutRevocation
        return one
    }

    /// Returns whether the worker must ask Apple for the transaction by its id before it decides. It must if receiptd
    /// cannot read a fact that decides. It must if another answer of Apple's shows a refund, because receiptd may have
    /// missed the reversal. It must too if a published grant is lost, because the database may have lost a refund with
    /// it.
    public func isToBeAsked(under app: AppPolicy) -> Bool {
        let isDoubtful = isPublished || isShownRefunded || !purchase.purchase.unreadable.isEmpty
        return isDoubtful && mayBeAsked(under: app)
    }

    func mayBeAsked(under app: AppPolicy) -> Bool { !wasAsked && app.serverAPI != nil }

    /// True if Apple refunded the purchase, or a part of it, after the announcement.
    var isShownRefunded: Bool { purchase.purchase.cancelledAt.map { $0 > purchase.toldAt } ?? false }

    /// Returns the purchase after the worker asked Apple for the transaction.
    /// - Parameter answer: the transaction as Apple describes it now; nil if Apple does not know it or cannot be asked.
    ///   Then an unreadable purchase is held, and a refund that another answer showed counts.
    public func told(_ answer: NotifiedTransaction?) -> LeasedAnnouncement {
        var one = self
        one.wasAsked = true
        if let answer { one.purchase = purchase.told(by: answer) }
        return one
    }

    /// The topic in the position of a purchase that came in no Kafka record. No real topic can have this name.
    public static let topic = "(announced)"

    /// The position that stands in for the position of a record.
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
        /// A submission brought the purchase.
        case claimed
        case granted
        case held
        /// The rules refuse the purchase. There is no event, because nobody submitted the purchase.
        case refused
        case unclaimed
        /// The same as `unclaimed`, in an app whose catalog lists no missed purchases.
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
    /// The event of the grant's change that is published right behind the grant (`Settlement.Revocation`); nil if there
    /// is none.
    public var revocation: OutcomeEvent?
    /// The events of the changes of the purchase's subscription.
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
    /// All events to publish, the purchase's first.
    public var events: [OutcomeEvent] { owned + subscriptions }

    /// Records a purchase whose owner was erased.
    public init(erased purchase: AnnouncedPurchase, _ pseudonym: PlayerID) {
        self.init(of: purchase, .refused, reason: "player_erased", player: pseudonym)
    }
}

/// The reason why a purchase is unclaimed. A submission, a record of `player-accounts` or another catalog may still
/// bring the purchase to its player.
public enum UnclaimedReason: String, Sendable, CaseIterable {
    case unknownApp = "unknown_app"
    /// The purchase has no owner, and nobody names the player of its token.
    case unknownPlayer = "unknown_player"
    /// The catalog delivers no missed purchases.
    case notDelivered = "not_delivered"
    /// The purchase is older than the first catalog that granted missed purchases, or than the cutover.
    case boughtBefore = "bought_before"
    /// The stored purchase cannot be read, or the database refuses its data.
    case unreadable
    /// The purchase killed its workers repeatedly.
    case crashed
}

extension LeasedAnnouncement {
    /// Returns the purchase's outcome.
    /// - Parameter settlement: the settlement of the purchase's decision, as if a submission had brought the purchase.
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
        // The player has the purchase by a submission or by another system's grant, or has its period by another
        // transaction.
        switch settlement.outcomes.first?.outcome {
        case .alreadyGranted where !settlement.repeated.isEmpty:
            return AnnouncedOutcome(of: purchase, .refused, reason: reason?.rawValue, player: player)
        case .alreadyGranted, .held, .granted: return AnnouncedOutcome(of: purchase, .claimed, player: player)
        case .rejected, nil:
            return AnnouncedOutcome(of: purchase, .refused, reason: reason?.rawValue, player: player)
        }
    }
}
