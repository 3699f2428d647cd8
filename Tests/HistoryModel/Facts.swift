/// The events of a history, as an observer who sees everything tells them: purchases at Apple and their buyers,
/// submissions, announcements. The model judges by these facts and by nothing that the worker says of itself.
public struct Facts: Sendable {
    /// The apps of the catalog, by bundle id.
    public var apps: [String: App] = [:]
    /// The purchases by transaction id.
    public var purchases: [String: Purchase] = [:]
    /// The submissions in the order sent. A record that was sent twice is here twice.
    public var submissions: [Submission] = []
    public var operators: [OperatorAct] = []
    /// The subscriptions by original transaction id, if Apple's words about them were all delivered.
    public var subscriptions: [String: SubscriptionFact] = [:]
    /// Apple's questions about refunds that reached the topic, by notification id.
    public var refundRequests: [String: RefundRequest] = [:]
    /// The game's reports about purchases, oldest first, by transaction id.
    public var reports: [String: [Report]] = [:]
    public var conditions = Conditions()

    public struct Report: Sendable {
        /// The used part in thousandths of a per cent.
        public let percentage: Int
        public let isConsented: Bool

        public init(percentage: Int, isConsented: Bool) {
            (self.percentage, self.isConsented) = (percentage, isConsented)
        }
    }

    public init() {}
}

/// An app of the catalog, with the policies that decide.
public struct App: Sendable {
    public enum Missed: Sendable { case off, report, grant }
    public enum Status: Sendable { case active, unknown, retiredHold }

    public let bundleID: String
    public var hasServerAPI = false
    /// The policy `account_token_is: player_id`.
    public var tokenIsPlayer = false
    /// The policy `account_token: require`.
    public var requiresToken = false
    public var missed = Missed.off
    /// The policies `finish: after_grant` and `consumption`.
    public var reports = false
    /// The policy `renewals: follow`.
    public var followsRenewals = false
    /// The products by product id; every other product is unknown to the catalog.
    public var products: [String: Status] = [:]
    /// The players whom the game reported for each account token, by token.
    public var accounts: [String: Set<String>] = [:]
    /// The products whose status changed within the history.
    public var changed: Set<String> = []

    public init(bundleID: String) { self.bundleID = bundleID }

    func status(_ product: String) -> Status { products[product] ?? .unknown }
}

/// One transaction at Apple. All times are milliseconds since 1970.
public struct Purchase: Sendable {
    public enum Kind: Sendable { case nonConsumable, consumable, nonRenewing, autoRenewable }

    public let id: String
    public let originalID: String
    public let bundleID: String
    public let productID: String
    public let kind: Kind
    public let quantity: Int
    public let purchasedAt: Int64
    /// The Apple account that paid.
    public let account: String
    /// The player to whom the Apple account belongs.
    public let payer: String
    /// The `webOrderLineItemId`, which identifies Apple's charge for a period.
    public var line: String?
    public var expiresAt: Int64?
    /// The period's end before Apple extended the period; older proofs show this end.
    public var firstEnd: Int64?
    /// The end of the grace period after `expiresAt`; some of Apple's answers show this end.
    public var graceEnd: Int64?
    /// True where Apple's last word about the subscription still names this grace period.
    public var isInGrace = false
    /// The `appAccountToken`; nil for a purchase without one.
    public var token: String?
    public var isFamilyShared = false
    public var isUpgraded = false
    public var previousOriginalID: String?
    /// The times at which Apple signed the purchase's notifications that reached the topic.
    public var toldAt: [Int64] = []
    /// Apple's reports of refunds and of their reversals, oldest first.
    public var refunds: [RefundWord] = []

    public init(
        id: String, originalID: String, bundleID: String, productID: String, kind: Kind, quantity: Int,
        purchasedAt: Int64, account: String, payer: String
    ) {
        self.id = id
        self.originalID = originalID
        self.bundleID = bundleID
        self.productID = productID
        self.kind = kind
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.account = account
        self.payer = payer
    }

    /// The unit that can be granted once: a period by Apple's charge for it, a non-consumable by its original.
    var goods: String {
        switch kind {
        case .autoRenewable: "period \(line ?? "\(originalID) \(purchasedAt)")"
        case .nonConsumable: "original \(originalID)"
        case .consumable, .nonRenewing: "transaction \(id)"
        }
    }
}

/// Apple's REFUND, REVOKE or REFUND_REVERSED notification for a purchase.
public struct RefundWord: Sendable {
    public let signedAt: Int64
    /// The refunded part of the whole quantity, in thousandths of a per cent. The value is the total so far.
    public let thousandths: Int
    /// True where Apple reversed the last refund.
    public let isReversal: Bool
    /// True where the notification reached the topic.
    public var isDelivered: Bool

    public init(signedAt: Int64, thousandths: Int, isReversal: Bool = false, isDelivered: Bool = false) {
        self.signedAt = signedAt
        self.thousandths = thousandths
        self.isReversal = isReversal
        self.isDelivered = isDelivered
    }
}

/// Apple's CONSUMPTION_REQUEST notification, sent because a player asked for a refund.
public struct RefundRequest: Sendable {
    public let transactionID: String
    public let signedAt: Int64
    /// True where the grant was published before the notification reached the topic.
    public let isGranted: Bool

    public init(transactionID: String, signedAt: Int64, isGranted: Bool) {
        (self.transactionID, self.signedAt, self.isGranted) = (transactionID, signedAt, isGranted)
    }
}

/// One record of the submissions topic.
public struct Submission: Sendable {
    public enum Form: Sendable { case receipt, signedTransaction, transactionID }
    /// The quality of a proof. A forged proof's signature fails; a malformed record is no submission.
    public enum Quality: Sendable { case proven, unproven, forged, unreadable, malformed }

    public let id: String
    public let player: String
    /// The app that the game server names.
    public let bundleID: String
    public let form: Form
    public let quality: Quality
    /// The bundle id in the proof.
    public var proofBundleID: String
    /// The ids of the transactions in the proof.
    public var holds: [String]
    /// The time at which Apple signed the proof.
    public var signedAt: Int64
    public var hint: String?
    public var token: String?
    /// The record's timestamp; nil where the rules use the present time.
    public var judgedAt: Int64?
    /// The proof's unreadable fact; nil where the worker can read every fact.
    public var oddity: Oddity?
    /// The transactions whose grace periods the worker had taken from a notification before the submission was sent.
    public var knownGraces: Set<String> = []
    /// Apple's reason to refuse the proof as a whole.
    public var refusal: String?
    /// The record's partition and offset in Kafka.
    public var place = Place(partition: -1, offset: -1)

    public init(
        id: String, player: String, bundleID: String, form: Form, quality: Quality, holds: [String], signedAt: Int64
    ) {
        self.id = id
        self.player = player
        self.bundleID = bundleID
        proofBundleID = bundleID
        self.form = form
        self.quality = quality
        self.holds = holds
        self.signedAt = signedAt
    }
}

/// The oddity of a transaction that Apple signed.
public enum Oddity: Sendable {
    /// A deciding fact is unreadable: the worker holds the transaction or asks Apple for the transaction by id.
    case decidingFact
    /// The transaction's id or product is odd: the worker rejects the submission at once.
    case identity
}

public struct Place: Sendable, Hashable {
    public let partition: Int32
    public let offset: Int64

    public init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}

/// An operator's order that the command acknowledged.
public struct OperatorAct: Sendable {
    public enum Order: Sendable, Equatable {
        case release, refuse, revoke, reinstate
        /// The operator transfers a subscription to this player.
        case transfer(String)
    }

    public let order: Order
    public let transactionID: String

    public init(_ order: Order, _ transactionID: String) {
        self.order = order
        self.transactionID = transactionID
    }
}

/// Apple's, or the ledger's, facts about a subscription.
public struct SubscriptionFact: Sendable, Equatable {
    public let state: String
    public let product: String
    public let willRenew: Bool?
    public let renewalProduct: String?

    public init(state: String, product: String, willRenew: Bool?, renewalProduct: String? = nil) {
        self.state = state
        self.product = product
        self.willRenew = willRenew
        self.renewalProduct = renewalProduct
    }
}

/// The changes of the surroundings that affect the possible results of a history.
public struct Conditions: Sendable {
    /// The end of the history, by the real clock.
    public var now: Int64 = 0
    /// The database was restored to an earlier state.
    public var wasPutBack = false
    /// The time of the last restore, in the format of `occurred_at`; nil without a restore.
    public var putBackAt: String?
    /// The operators' acts that a restored database has lost.
    public var lostOrders: Set<String> = []
    /// The number of requests for which Apple denies a transaction, by transaction id.
    public var unknownAtApple: [String: Int] = [:]
    /// The players whom an operator erased. Their rows and events have a pseudonym from then on.
    public var erased: Set<String> = []
    /// True where one worker had all partitions and no fault occurred. The contract then promises the order.
    public var isCalm = true

    public init() {}
}
