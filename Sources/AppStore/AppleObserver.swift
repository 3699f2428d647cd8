import Fulfillment

/// Hears of each HTTP request as it ends: what metrics are made of. Called from any thread, and must not block.
public protocol AppleObserver: Sendable {
    /// - Parameters:
    ///   - endpoint: `verifyReceipt` or `transactions`.
    ///   - environment: the one that was asked.
    ///   - result: a label value from a closed set, see `VerifyReceiptAnswer.label` and
    ///     `TransactionAnswer.label`.
    ///   - seconds: from the request's start to its last byte or its failure.
    func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double)

    /// The same request, by its address.
    /// - Parameters:
    ///   - url: without query, and of a transaction without its id.
    ///   - noAnswer: why there was no usable answer, as text; nil where Apple answered.
    func reached(_ url: String, noAnswer: String?)
}

extension AppleObserver {
    public func reached(_ url: String, noAnswer: String?) {}
}
