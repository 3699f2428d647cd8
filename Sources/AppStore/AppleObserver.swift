import Fulfillment

/// Hears of each HTTP request as it ends, for metrics. It is called from any thread, and must not block.
public protocol AppleObserver: Sendable {
    /// - Parameters:
    ///   - endpoint: `verifyReceipt` or `transactions`.
    ///   - environment: the environment that was asked.
    ///   - result: a label value from a closed set, see `VerifyReceiptAnswer.label` and `TransactionAnswer.label`.
    ///   - seconds: the time from the request's start to its last byte or its failure.
    func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double)

    /// Reports the same request by its address.
    /// - Parameters:
    ///   - url: the address without its query, and without the id of a transaction.
    ///   - noAnswer: the reason why there was no usable answer, as text; nil if Apple answered.
    func reached(_ url: String, noAnswer: String?)
}

extension AppleObserver {
    public func reached(_ url: String, noAnswer: String?) {}
}
