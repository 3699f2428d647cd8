import NamesAndTimes

/// Apple's answers about single transactions of a submission. The parked row keeps these answers, so that the next try
/// looks up only the transactions without an answer.
public struct RememberedLookUps: Sendable, Equatable {
    /// The most transactions that a parked row keeps. A retry looks up the rest again.
    public static let maximum = 2_000
    /// The milliseconds for which a row's answers count: one day, because Apple may refund a purchase after its
    /// look-up.
    static let validMilliseconds: Int64 = 86_400_000

    /// The transactions that Apple does not know.
    public let settled: Set<StoreTransactionID>
    /// The purchases without a refund, as Apple described them, sorted by transaction.
    public let told: [StorePurchase]
    /// The time at which a worker first parked the submission with such answers; nil if there are none.
    public let since: Timestamp?

    /// Keeps at most `maximum` transactions, first those of `told`.
    public init(settled: Set<StoreTransactionID> = [], told: [StorePurchase] = [], since: Timestamp? = nil) {
        self.told = Array(told.sorted { $0.transactionID < $1.transactionID }.prefix(Self.maximum))
        self.settled = Set(settled.sorted().prefix(Self.maximum - self.told.count))
        self.since = settled.isEmpty && told.isEmpty ? nil : since
    }

    public var isEmpty: Bool { settled.isEmpty && told.isEmpty }

    /// Returns the answers if they still count at `now`, otherwise an empty value.
    public func valid(at now: Timestamp) -> RememberedLookUps {
        guard let since, now.milliseconds - since.milliseconds < Self.validMilliseconds else { return Self() }
        return self
    }
}
