import NamesAndTimes

/// A question to the App Store Server API that the rules need answered before they decide.
public enum FurtherQuestion: Sendable, Equatable {
    /// Asks Apple for each of these transactions that the ledger lacks. Apple's answer may show the refund of a
    /// consumable, which a receipt does not show. It may also name a fact that receiptd cannot read in the receipt.
    case transactions([StoreTransactionID], in: StoreEnvironment)
    /// Asks for the account's purchases of a product. If a client finishes a purchase too early, its receipt lacks the
    /// purchase.
    case purchases(EarlyFinish)
    /// Asks whether the subscription of this period, which is over, is still in its grace period.
    case grace(of: StorePurchase, in: StoreEnvironment)

    /// Asks, by their ids, for transactions that the receipt lists and Apple's answer about the receipt leaves out.
    /// Apple signed the receipt.
    case named([StoreTransactionID], in: StoreEnvironment)

    public struct EarlyFinish: Sendable, Equatable {
        /// A transaction of the account, by which Apple finds the account.
        public let transaction: StoreTransactionID
        public let environment: StoreEnvironment
        public let product: ProductID
        /// The purchase times of purchases that count as if they were in the receipt.
        public let bought: ClosedRange<Timestamp>
    }
}

/// The answers to further questions about one submission. They are kept while the submission waits, so that a retry
/// asks only the unanswered questions.
public struct FurtherAnswers: Sendable, Equatable {
    /// The most answers that are kept for one submission, so that parked rows stay small. A retry asks again for the
    /// rest.
    public static let maximumRemembered = 2_000

    /// The transactions that the ledger has, or that need no further look-up.
    public private(set) var settled: Set<StoreTransactionID>
    /// The transactions as Apple described them when they were looked up.
    public private(set) var lookedUp: [StoreTransactionID: StorePurchase] = [:]
    /// The account's purchases of the submission's product; nil if Apple was not asked for them.
    public var history: [NotifiedTransaction]?
    /// The facts about subscriptions whose last period is over, by original transaction. The ledger told them, or else
    /// Apple.
    public private(set) var subscriptions: [StoreTransactionID: [SubscriptionFact]] = [:]

    /// The results of asking by id for the signed purchases that Apple's answer leaves out.
    public private(set) var named: [StoreTransactionID: NamedPurchase] = [:]

    public enum NamedPurchase: Sendable, Equatable {
        /// The purchase as Apple describes it.
        case told(StorePurchase)
        /// The ledger has the purchase as granted or held, and grants nothing of it anew.
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

    /// Forgets the transactions that were noted as unknown, so that the next try asks Apple for them again.
    public mutating func forgetUnknown() { named = named.filter { $0.value != .unknown } }

    public mutating func settle(_ transactions: some Sequence<StoreTransactionID>) { settled.formUnion(transactions) }

    /// - Parameter purchase: the purchase; nil if Apple does not know it, so that the receipt decides.
    public mutating func note(_ purchase: StorePurchase?, of transaction: StoreTransactionID) {
        if let purchase { lookedUp[transaction] = purchase } else { settled.insert(transaction) }
    }

    /// The refunded transactions in Apple's answers about accounts and subscriptions.
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

    /// The transactions that a parked row keeps as looked up: those without a refund. A retry looks up the others
    /// again.
    public var remembered: Set<StoreTransactionID> {
        let intact = lookedUp.lazy.filter { $0.value.cancelledAt == nil }.map(\.key)
        return Set(settled.union(intact).sorted().prefix(Self.maximumRemembered))
    }
}
