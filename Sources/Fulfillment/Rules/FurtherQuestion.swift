import NamesAndTimes

/// A question to the App Store Server API that the rules need answered before they decide.
public enum FurtherQuestion: Sendable, Equatable {
    /// Asks Apple for each listed transaction that is not in the ledger. Apple's answer shows the refund of a
    /// consumable; a receipt does not. Apple's answer may also have a fact that receiptd cannot read in the receipt.
    case transactions([StoreTransactionID], in: StoreEnvironment)
    /// Asks Apple for an account's purchases of a product. A receipt lacks consumables that the client has finished.
    case purchases(EarlyFinish)
    /// Asks whether a subscription is still in its grace period. The purchase is the subscription's last period, which
    /// is over.
    case grace(of: StorePurchase, in: StoreEnvironment)

    /// Asks Apple by id for the transactions that a signed receipt lists, but that Apple's answer to the receipt leaves
    /// out.
    case named([StoreTransactionID], in: StoreEnvironment)

    public struct EarlyFinish: Sendable, Equatable {
        /// A transaction of the account, by which Apple finds the account.
        public let transaction: StoreTransactionID
        public let environment: StoreEnvironment
        public let product: ProductID
        /// A range of purchase times. A purchase within the range counts as if the receipt listed it.
        public let bought: ClosedRange<Timestamp>
    }
}

/// The answers to the further questions about one submission. The worker keeps the answers while the submission waits,
/// so that a retry asks only the unanswered questions.
public struct FurtherAnswers: Sendable, Equatable {
    /// The transactions that Apple does not know, so that the receipt decides.
    public private(set) var settled: Set<StoreTransactionID>
    /// The transactions that the ledger has. The next try looks for them again, because a hold may end without a grant.
    private var inLedger: Set<StoreTransactionID> = []
    /// The transactions as Apple described them in the look-ups.
    public private(set) var lookedUp: [StoreTransactionID: StorePurchase] = [:]
    /// The account's purchases of the submission's product; nil if no worker asked Apple for them.
    public var history: [NotifiedTransaction]?
    /// The facts about subscriptions whose last period is over, by original transaction. The facts come from the
    /// ledger, or else from Apple.
    public private(set) var subscriptions: [StoreTransactionID: [SubscriptionFact]] = [:]

    /// The signed purchases that Apple's answer leaves out, with the result of each look-up by id.
    public private(set) var named: [StoreTransactionID: NamedPurchase] = [:]

    public enum NamedPurchase: Sendable, Equatable {
        /// The purchase as Apple describes it.
        case told(StorePurchase)
        /// The ledger has a grant or a hold of the purchase, so that receiptd does not grant the purchase again.
        case inLedger
        /// Neither Apple nor the ledger knows the transaction, or receiptd cannot ask Apple.
        case unknown
    }

    public init(settled: Set<StoreTransactionID> = []) {
        self.settled = settled
    }

    /// Begins with the answers that a parked row kept.
    public init(_ lookUps: RememberedLookUps) {
        settled = lookUps.settled
        for purchase in lookUps.told { lookedUp[purchase.transactionID] = purchase }
    }

    public mutating func note(_ known: NamedPurchase, named transaction: StoreTransactionID) {
        named[transaction] = known
    }

    func isToldByName(_ transaction: StoreTransactionID) -> Bool {
        if case .told = named[transaction] { true } else { false }
    }

    /// Forgets the answers that may change before the next try: the transactions that the ledger has, and the
    /// transactions noted as `unknown`. The next try asks about these transactions again.
    public mutating func forgetPassing() {
        named = named.filter { $0.value != .unknown && $0.value != .inLedger }
        inLedger = []
    }

    public mutating func noteInLedger(_ transactions: some Sequence<StoreTransactionID>) {
        inLedger.formUnion(transactions)
    }

    /// - Parameter purchase: Apple's facts; nil if Apple does not know the transaction, so that the receipt decides.
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

    /// - Parameter facts: the facts about the subscription; empty if there are none.
    public mutating func note(_ facts: [SubscriptionFact], of original: StoreTransactionID) {
        subscriptions[original, default: []] += facts
    }

    public func isOpen(_ transaction: StoreTransactionID) -> Bool {
        !settled.contains(transaction) && !inLedger.contains(transaction) && lookedUp[transaction] == nil
    }

    /// Returns Apple's answers that a parked row keeps. Leaves out the refunded purchases, because Apple may reverse a
    /// refund.
    /// - Parameter since: when a worker first parked the row together with answers.
    public func remembered(since: Timestamp) -> RememberedLookUps {
        RememberedLookUps(
            settled: settled, told: lookedUp.values.filter { $0.cancelledAt == nil }, since: since)
    }
}
