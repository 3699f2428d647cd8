import NamesAndTimes

/// What the rules have to know beside the answer before they decide: asked of the App Store Server API.
public enum FurtherQuestion: Sendable, Equatable {
    /// Each of these that the ledger does not have is looked up: a receipt does not tell that Apple took a consumable back,
    /// and what cannot be read of an answer Apple may tell by name.
    case transactions([StoreTransactionID], in: StoreEnvironment)
    /// What the Apple account of a transaction bought of a product: a client that finishes too early makes its receipt
    /// without it.
    case purchases(EarlyFinish)
    /// Whether this period, which is over, has a grace period that is not.
    case grace(of: StorePurchase, in: StoreEnvironment)

    /// These are in the receipt that Apple signed, and not in Apple's answer about it.
    case named([StoreTransactionID], in: StoreEnvironment)

    public struct EarlyFinish: Sendable, Equatable {
        /// Any of the account's.
        public let transaction: StoreTransactionID
        public let environment: StoreEnvironment
        public let product: ProductID
        /// When those were bought that may count.
        public let bought: ClosedRange<Timestamp>
    }
}

/// What came of further questions about one submission. It is kept while the submission waits, so that a retry asks only
/// for what is still open.
public struct FurtherAnswers: Sendable, Equatable {
    /// Of one submission, so that what waits in PostgreSQL stays small. A receipt with more is looked up anew for the rest.
    public static let maximumRemembered = 2_000

    /// Those that the ledger has, or that are not to be looked up again.
    public private(set) var settled: Set<StoreTransactionID>
    /// As Apple told them when they were looked up.
    public private(set) var lookedUp: [StoreTransactionID: StorePurchase] = [:]
    /// Of the submission's product, nil where it was not asked for.
    public var history: [NotifiedTransaction]?
    /// What is known of the subscriptions whose last period is over: what the ledger has, then what Apple answered.
    public private(set) var subscriptions: [StoreTransactionID: [SubscriptionFact]] = [:]

    /// What is known by name of purchases that Apple signed and its answer leaves out.
    public private(set) var named: [StoreTransactionID: NamedPurchase] = [:]

    public enum NamedPurchase: Sendable, Equatable {
        /// As Apple tells it.
        case told(StorePurchase)
        /// It is granted or held: nothing of it is granted anew.
        case inLedger
        /// Neither Apple nor the ledger knows it, or Apple cannot be asked.
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

    /// At the next try Apple is asked again for what it did not know.
    public mutating func forgetUnknown() { named = named.filter { $0.value != .unknown } }

    public mutating func settle(_ transactions: some Sequence<StoreTransactionID>) { settled.formUnion(transactions) }

    /// - Parameter purchase: nil where Apple does not know it: the receipt decides.
    public mutating func note(_ purchase: StorePurchase?, of transaction: StoreTransactionID) {
        if let purchase { lookedUp[transaction] = purchase } else { settled.insert(transaction) }
    }

    /// What Apple showed as taken back besides what it was asked for.
    public private(set) var revoked: [NotifiedTransaction] = []

    /// - Parameter told: of the submission's app.
    public mutating func noteRevocations(in told: some Sequence<NotifiedTransaction>) {
        revoked += told.filter { $0.purchase.cancelledAt != nil }
    }

    public var allSubscriptions: [SubscriptionFact] { subscriptions.values.flatMap(\.self) }

    /// - Parameter facts: of this original, perhaps none.
    public mutating func note(_ facts: [SubscriptionFact], of original: StoreTransactionID) {
        subscriptions[original, default: []] += facts
    }

    public func isOpen(_ transaction: StoreTransactionID) -> Bool {
        !settled.contains(transaction) && lookedUp[transaction] == nil
    }

    /// What outlives the process: those of which nothing was taken back. The others are looked up again.
    public var remembered: Set<StoreTransactionID> {
        let intact = lookedUp.lazy.filter { $0.value.cancelledAt == nil }.map(\.key)
        return Set(settled.union(intact).sorted().prefix(Self.maximumRemembered))
    }
}
