import NamesAndTimes

/// A question to the App Store Server API that the rules need answered before they decide.
public enum FurtherQuestion: Sendable, Equatable {
    /// Looks up each of these transactions that the ledger lacks. A receipt does not show that Apple refunded a
    /// consumable. Apple may also name a fact that cannot be read in its answer.
    case transactions([StoreTransactionID], in: StoreEnvironment)
    /// Asks for the account's purchases of a product. A client that finishes too early makes its receipt without them.
    case purchases(EarlyFinish)
    /// Asks whether this period, which is over, has a grace period that is not.
    case grace(of: StorePurchase, in: StoreEnvironment)

    /// Asks by name for transactions that are in the receipt that Apple signed and not in Apple's answer about it.
    case named([StoreTransactionID], in: StoreEnvironment)

    public struct EarlyFinish: Sendable, Equatable {
        /// Any transaction of the account.
        public let transaction: StoreTransactionID
        public let environment: StoreEnvironment
        public let product: ProductID
        /// The purchase times that may count.
        public let bought: ClosedRange<Timestamp>
    }
}

/// The answers to further questions about one submission. They are kept while the submission waits, so that a retry
/// asks only the open questions.
public struct FurtherAnswers: Sendable, Equatable {
    /// The most answers that are kept for one submission, so that parked rows stay small. A retry asks again for the
    /// rest.
    public static let maximumRemembered = 2_000

    /// The transactions that the ledger has, or that need no further look-up.
    public private(set) var settled: Set<StoreTransactionID>
    /// The transactions as Apple described them when they were looked up.
    public private(set) var lookedUp: [StoreTransactionID: StorePurchase] = [:]
    /// The history of the submission's product, nil if it was not asked for.
    public var history: [NotifiedTransaction]?
    /// The facts about subscriptions whose last period is over: the ledger's, then Apple's.
    public private(set) var subscriptions: [StoreTransactionID: [SubscriptionFact]] = [:]

    /// The facts by name about purchases that Apple signed and its answer leaves out.
    public private(set) var named: [StoreTransactionID: NamedPurchase] = [:]

    public enum NamedPurchase: Sendable, Equatable {
        /// The purchase as Apple describes it.
        case told(StorePurchase)
        /// The purchase is granted or held: nothing of it is granted anew.
        case inLedger
        /// Apple and the ledger do not know the transaction, or receiptd cannot ask Apple.
        case unknown
    }

    public init(settled: Set<StoreTransactionID> = []) {
        self.settled = settled
    }

    public mutating func note(_ known: NamedPurchase, named transaction: StoreTransactionID) {
        named[transaction] = known
    }

    func isToldByName(_ transaction: StoreTransactionID) -> Bool {
        if case .told = named[transaction] { true } else { false }
    }

    /// Forgets the unknown ones, so that the next try asks Apple for them again.
    public mutating func forgetUnknown() { named = named.filter { $0.value != .unknown } }

    public mutating func settle(_ transactions: some Sequence<StoreTransactionID>) { settled.formUnion(transactions) }

    /// - Parameter purchase: the purchase; nil if Apple does not know it, so that the receipt decides.
    public mutating func note(_ purchase: StorePurchase?, of transaction: StoreTransactionID) {
        if let purchase { lookedUp[transaction] = purchase } else { settled.insert(transaction) }
    }

    /// The refunds in Apple's answers that the question was not about.
    public private(set) var revoked: [NotifiedTransaction] = []

    /// - Parameter told: transactions of the submission's app.
    public mutating func noteRevocations(in told: some Sequence<NotifiedTransaction>) {
        revoked += told.filter { $0.purchase.cancelledAt != nil }
    }

    public var allSubscriptions: [SubscriptionFact] { subscriptions.values.flatMap(\.self) }

    /// - Parameter facts: the facts about this original transaction, which may be none.
    public mutating func note(_ facts: [SubscriptionFact], of original: StoreTransactionID) {
        subscriptions[original, default: []] += facts
    }

    public func isOpen(_ transaction: StoreTransactionID) -> Bool {
        !settled.contains(transaction) && lookedUp[transaction] == nil
    }

    /// The transactions to remember beyond the process: those without a refund. The others are looked up again.
    public var remembered: Set<StoreTransactionID> {
        let intact = lookedUp.lazy.filter { $0.value.cancelledAt == nil }.map(\.key)
        return Set(settled.union(intact).sorted().prefix(Self.maximumRemembered))
    }
}
