/// The simulated App Store's state: apps, customers, their purchases, and notifications. The store reads no clock:
/// callers set `now`. With equal seeds, equal calls at equal times make equal ids and notifications.
public struct SimulatedStore: Sendable {
    /// The time of the next change, in milliseconds since 1970.
    public var now: Int64 = 0
    public internal(set) var apps: [String: SimulatedApp] = [:]
    /// The time up to which `SimulatedLife` has performed its events, in milliseconds since 1970. The store answers
    /// later requests as of this time. Nil without a simulated life.
    public var livedUntil: Int64?
    /// The transactions by id.
    public internal(set) var transactions: [String: StoreTransaction] = [:]
    /// The subscriptions by original transaction id.
    public internal(set) var subscriptions: [String: StoreSubscription] = [:]
    /// The notifications, oldest first.
    public internal(set) var notifications: [ToldNotification] = []
    /// The reports to Send Consumption Information by transaction id, oldest first.
    public internal(set) var consumption: [String: [ConsumptionInformation]] = [:]
    /// The ids of an account's transactions, oldest first.
    var byAccount: [SimulatedAccount: [String]] = [:]
    var byOrder: [String: String] = [:]
    private var random: SplitMix64
    private var lastNumber: Int64
    private var lastModification = 0

    /// The reason why the store refuses a change.
    public enum Fault: Error, Sendable, Equatable {
        case unknownApp(String)
        case unknownProduct(String)
        case unknownTransaction(String)
        case unknownNotification(String)
        /// The product or the transaction is not an auto-renewable subscription.
        case notASubscription(String)
        /// The account already has an active subscription in the product's group: call `upgrade` or `downgrade`.
        case alreadySubscribed(String)
        /// The purchase is not a non-consumable. Only a non-consumable gets another id when it is restored.
        case notRestorable(String)
        case notFamilyShared(String)
        case alreadyRefunded(String)
        case notRefunded(String)
    }

    /// - Parameter seed: the seed of the ids. Two stores with seeds that differ modulo 8000 have different ids.
    public init(seed: UInt64 = 1) {
        random = SplitMix64(seed: seed)
        lastNumber = 100_000_000_000 + Int64(seed % 8000) * 100_000_000
    }

    /// Adds an app, or replaces the app with the same bundle id.
    public mutating func add(_ app: SimulatedApp) { apps[app.bundleID] = app }

    func app(_ bundleID: String) throws(Fault) -> SimulatedApp {
        guard let app = apps[bundleID] else { throw .unknownApp(bundleID) }
        return app
    }

    func product(_ id: String, of bundleID: String) throws(Fault) -> SimulatedProduct {
        guard let product = try app(bundleID).products[id] else { throw .unknownProduct(id) }
        return product
    }

    func transaction(_ id: String) throws(Fault) -> StoreTransaction {
        guard let transaction = transactions[id] else { throw .unknownTransaction(id) }
        return transaction
    }

    /// Returns a subscription. Throws if there is none.
    /// - Parameter id: the transaction id of any of its periods.
    func subscription(_ id: String) throws(Fault) -> StoreSubscription {
        let original = try transaction(id).originalID
        guard let subscription = subscriptions[original] else { throw .notASubscription(id) }
        return subscription
    }

    /// Returns all purchases of an account, oldest first.
    public func transactions(of account: SimulatedAccount) -> [StoreTransaction] {
        (byAccount[account] ?? []).compactMap { transactions[$0] }
    }

    public func subscriptions(of account: SimulatedAccount) -> [StoreSubscription] {
        Set(transactions(of: account).map(\.originalID)).compactMap { subscriptions[$0] }
            .sorted { $0.startedAt == $1.startedAt ? $0.originalID < $1.originalID : $0.startedAt < $1.startedAt }
    }

    // MARK: Steps of every change

    mutating func nextNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    /// Stores a new or changed transaction. In Get Transaction History it becomes the newest transaction.
    mutating func keep(_ transaction: StoreTransaction) {
        lastModification += 1
        var transaction = transaction
        transaction.modification = lastModification
        if transactions.updateValue(transaction, forKey: transaction.id) == nil {
            byAccount[transaction.account, default: []].append(transaction.id)
            byOrder[transaction.orderID] = transaction.id
        }
    }

    /// Returns a UUID of version 4, in lower case.
    mutating func nextUUID() -> String {
        let high = random.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = random.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = ReceiptHash.hexadecimal(high) + ReceiptHash.hexadecimal(low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }
}
