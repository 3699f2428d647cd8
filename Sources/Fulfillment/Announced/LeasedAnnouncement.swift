import NamesAndTimes

/// An announced purchase, under a lease: no other replica takes it before the lease is over.
public struct LeasedAnnouncement: Sendable {
    /// The end of the lease, in PostgreSQL's microseconds: it tells this lease from a later one.
    public typealias Lease = Int64

    public private(set) var purchase: AnnouncedPurchase
    /// The number of times that it was held, and refused to the player by an operator.
    public let timesHeld: Int32
    public let lease: Lease
    /// Apple was asked for it by name since it was leased.
    private var wasAsked = false

    public init(purchase: AnnouncedPurchase, timesHeld: Int32, lease: Lease) {
        self.purchase = purchase
        self.timesHeld = timesHeld
        self.lease = lease
    }

    /// The same purchase without its revocation, for a refund that Apple has reversed since.
    public var withoutRevocation: LeasedAnnouncement {
        var one = self
        one.purchase = purchase.withoutRevocation
        return one
    }

    /// A fact that decides cannot be read: Apple is asked for the transaction by name before it is delivered to anybody.
    public func isToBeAsked(under app: AppPolicy) -> Bool {
        !wasAsked && app.serverAPI != nil && !purchase.purchase.unreadable.isEmpty
    }

    /// - Parameter answer: the transaction as Apple tells it now; nil where it does not know it, or cannot be asked. What
    ///   is still unreadable then is held.
    public func told(_ answer: NotifiedTransaction?) -> LeasedAnnouncement {
        var one = self
        one.wasAsked = true
        if let answer { one.purchase = purchase.told(by: answer) }
        return one
    }

    /// The topic of a purchase that no record of Kafka's brought. No topic can have this name.
    public static let topic = "(announced)"

    /// The position in place of a record's.
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
        /// A submission brought it.
        case claimed
        case granted
        case held
        /// Nobody asked: no event.
        case refused
        case unclaimed
        /// The same as `unclaimed`, if the catalog lists none.
        case ignored
    }

    public let transactionID: StoreTransactionID
    public let source: PurchaseSource
    public let state: State
    /// A `Reason`, or why it is unclaimed.
    public let reason: String?
    public let player: PlayerID?
    /// The event of a grant or a hold.
    public let event: OutcomeEvent?
    /// The revocation of a part that Apple took back before.
    public var revocation: OutcomeEvent?
    /// The changes of its subscription that follow.
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
    /// Events of the purchase itself, in publishing order.
    public var owned: [OutcomeEvent] { [event, revocation].compactMap(\.self) }
    /// The events to publish.
    public var events: [OutcomeEvent] { owned + subscriptions }

    /// Records a purchase whose owner was erased.
    public init(erased purchase: AnnouncedPurchase, _ pseudonym: PlayerID) {
        self.init(of: purchase, .refused, reason: "player_erased", player: pseudonym)
    }
}

/// The reason why a purchase is not delivered that a submission, a word about its token or another catalog may bring to
/// its player.
public enum UnclaimedReason: String, Sendable, CaseIterable {
    case unknownApp = "unknown_app"
    /// No owner, and nobody says whose token it is.
    case unknownPlayer = "unknown_player"
    /// The catalog delivers none.
    case notDelivered = "not_delivered"
    /// Before the catalog first said that missed purchases are granted, or before the cutover.
    case boughtBefore = "bought_before"
    /// The stored purchase cannot be read, or the database refuses its data.
    case unreadable
    /// The purchase killed its workers, again and again.
    case crashed
}

extension LeasedAnnouncement {
    /// - Parameter settlement: of its decision, as if it had been submitted.
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
        // The player has it by a submission, or another system's grant; or its period by another transaction.
        switch settlement.outcomes.first?.outcome {
        case .alreadyGranted where !settlement.repeated.isEmpty:
            return AnnouncedOutcome(of: purchase, .refused, reason: reason?.rawValue, player: player)
        case .alreadyGranted, .held, .granted: return AnnouncedOutcome(of: purchase, .claimed, player: player)
        case .rejected, nil:
            return AnnouncedOutcome(of: purchase, .refused, reason: reason?.rawValue, player: player)
        }
    }
}
