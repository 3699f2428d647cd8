/// The facts of a history: purchases at Apple with their buyers, submissions and announcements. The runner records
/// these facts outside the worker. The model judges by the facts, and never by a worker's reports about itself.
public struct Facts: Sendable {
    /// The apps of the catalog, by bundle id.
    public var apps: [String: App] = [:]
    /// The purchases by transaction id.
    public var purchases: [String: Purchase] = [:]
    /// The submissions in the order of sending. A record that was sent twice is listed twice.
    public var submissions: [Submission] = []
    public var operators: [OperatorAct] = []
    /// The subscriptions whose notifications were all delivered, by original transaction id.
    public var subscriptions: [String: SubscriptionFact] = [:]
    /// The refund requests whose notification reached the topic, by notification id.
    public var refundRequests: [String: RefundRequest] = [:]
    /// The game server's consumption reports, oldest first, by transaction id.
    public var reports: [String: [Report]] = [:]
    public var conditions = Conditions()

    public struct Report: Sendable {
        /// The consumed part in thousandths of a per cent.
        public let percentage: Int
        public let isConsented: Bool

        public init(percentage: Int, isConsented: Bool) {
            (self.percentage, self.isConsented) = (percentage, isConsented)
        }
    }

    public init() {}
}

/// An app of the catalog, with the policies that affect its purchases.
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
    /// True if the catalogs of the history differ in `missed`.
    public var changesMissed = false
    /// The purchase time from which the worker grants missed purchases, in milliseconds since 1970. The worker only
    /// lists older purchases.
    public var grantsSince = Int64.min
    /// The policies `finish: after_grant` and `consumption`.
    public var reports = false
    /// The policy `renewals: follow`.
    public var followsRenewals = false
    /// The status of each product, by product id. The catalog does not know products that are missing here.
    public var products: [String: Status] = [:]
    /// The players to whom the game server assigned each account token, by token.
    public var accounts: [String: Set<String>] = [:]
    /// The products with a `daily_limit`. The last catalog of the history lifts the limits.
    public var limited: Set<String> = []
    /// The products whose status changed during the history.
    public var changed: Set<String> = []

    public init(bundleID: String) { self.bundleID = bundleID }

    func status(_ product: String) -> Status { products[product] ?? .unknown }
}

/// One transaction at Apple. All times are in milliseconds since 1970.
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
    /// The player who owns the Apple account.
    public let payer: String
    /// The `webOrderLineItemId`, by which Apple identifies the charge for a period.
    public var line: String?
    public var expiresAt: Int64?
    /// The end of the period before any extension by Apple. Proofs from before the extension show this end. Nil counts
    /// as `expiresAt`.
    public var firstEnd: Int64?
    /// The end of the grace period, which some of Apple's answers show; nil without a grace period.
    public var graceEnd: Int64?
    /// True if Apple's last notification about the subscription names this grace period, and the period has had no
    /// other grace period.
    public var isInGrace = false
    /// The `appAccountToken`; nil if the purchase has none.
    public var token: String?
    public var isFamilyShared = false
    public var isUpgraded = false
    public var previousOriginalID: String?
    /// The times of Apple's signatures on those notifications of the purchase that reached the topic.
    public var toldAt: [Int64] = []
    /// True if a notification of this renewal reached the topic after a grant under the same original transaction.
    public var isToldToOwner = false
    /// Apple's notifications of refunds and their reversals, oldest first.
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

    /// The identity of the goods, which workers grant at most once. Apple's charge identifies a period. The original
    /// transaction identifies a non-consumable.
    var goods: String {
        switch kind {
        case .autoRenewable: "period \(line ?? "\(originalID) \(purchasedAt)")"
        case .nonConsumable: "original \(originalID)"
        case .consumable, .nonRenewing: "transaction \(id)"
        }
    }
}

/// A notification REFUND, REVOKE or REFUND_REVERSED about a purchase.
public struct RefundWord: Sendable {
    public let signedAt: Int64
    /// The refunded part of the whole quantity in thousandths of a per cent, including earlier refunds.
    public let thousandths: Int
    /// True for REFUND_REVERSED, by which Apple reverses the last refund.
    public let isReversal: Bool
    /// True if the notification reached the topic.
    public var isDelivered: Bool

    public init(signedAt: Int64, thousandths: Int, isReversal: Bool = false, isDelivered: Bool = false) {
        self.signedAt = signedAt
        self.thousandths = thousandths
        self.isReversal = isReversal
        self.isDelivered = isDelivered
    }
}

/// A notification CONSUMPTION_REQUEST, which Apple sends after a customer asks for a refund.
public struct RefundRequest: Sendable {
    public let transactionID: String
    public let signedAt: Int64
    /// True if the grant was published before the notification reached the topic.
    public let isGranted: Bool

    public init(transactionID: String, signedAt: Int64, isGranted: Bool) {
        (self.transactionID, self.signedAt, self.isGranted) = (transactionID, signedAt, isGranted)
    }
}

/// A record of the submissions topic.
public struct Submission: Sendable {
    public enum Form: Sendable { case receipt, signedTransaction, transactionID }
    /// The quality of the proof. The signature of a forged proof is wrong. A malformed record is no submission.
    public enum Quality: Sendable { case proven, unproven, forged, unreadable, malformed }

    public let id: String
    public let player: String
    /// The app that the submission names.
    public let bundleID: String
    public let form: Form
    public let quality: Quality
    /// The bundle id in the proof.
    public var proofBundleID: String
    /// The ids of the transactions in the proof.
    public var holds: [String]
    /// The time of Apple's signature on the proof.
    public var signedAt: Int64
    public var hint: String?
    public var token: String?
    /// The time of the record, by which the rules judge; nil if the rules judge by the present time.
    public var judgedAt: Int64?
    /// The fact in the proof that the worker cannot read; nil if it can read all facts.
    public var oddity: Oddity?
    /// The transactions whose grace period the worker knew from a notification before the submission was sent.
    public var knownGraces: Set<String> = []
    /// The reason with which Apple refuses the whole proof; nil if Apple does not refuse it.
    public var refusal: String?
    /// The partition and offset of the record in Kafka.
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

/// The unreadable fact of a transaction that Apple signed.
public enum Oddity: Sendable {
    /// A fact that a decision needs. The worker holds the transaction, or asks Apple about its id.
    case decidingFact
    /// The id or the product. The worker rejects such a submission at once.
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

/// An operator's order, given by a command that succeeded.
public struct OperatorAct: Sendable {
    public enum Order: Sendable, Equatable {
        case release, refuse, revoke, reinstate
        case transfer(String)
    }

    public let order: Order
    public let transactionID: String
    /// The number of submissions that were sent before the order.
    public let submissions: Int

    public init(_ order: Order, _ transactionID: String, submissions: Int = 0) {
        self.order = order
        self.transactionID = transactionID
        self.submissions = submissions
    }
}

/// The state of a subscription, at Apple or in the ledger.
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

/// The circumstances that change which results of a history are correct.
public struct Conditions: Sendable {
    /// The time of the history's end on the real clock, in milliseconds since 1970.
    public var now: Int64 = 0
    /// True if the database was restored to an earlier state.
    public var wasPutBack = false
    /// The time of the last restore, in the format of `occurred_at`; nil without a restore.
    public var putBackAt: String?
    /// The transaction ids of operators' orders that the restore lost.
    public var lostOrders: Set<String> = []
    /// The number of requests that Apple answers as if it did not know the transaction's id, by transaction id.
    public var unknownAtApple: [String: Int] = [:]
    /// The players whom an operator erased. Afterwards their rows and events have a pseudonym.
    public var erased: Set<String> = []
    /// True if one worker had all partitions and there was no fault. Only then does the contract promise the order of a
    /// player's grants.
    public var isCalm = true

    public init() {}
}
