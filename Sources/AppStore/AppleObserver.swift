import Fulfillment

/// Gets a call at the end of each HTTP request to Apple, for metrics. Calls come from any thread. An observer must not
/// block.
public protocol AppleObserver: Sendable {
    /// - Parameters:
    ///   - endpoint: `verifyReceipt` or `transactions`.
    ///   - environment: the environment to which the request went.
    ///   - result: a label value from a closed set, see `VerifyReceiptAnswer.label` and `TransactionAnswer.label`.
    ///   - seconds: the time from the request's start to its last byte or its failure.
    func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double)

    /// Reports the end of a request by its address.
    /// - Parameters:
    ///   - url: the address without its query, and without the id of a transaction.
    ///   - noAnswer: the reason why there was no usable answer; nil if Apple answered.
    func reached(_ url: String, noAnswer: String?)
}

extension AppleObserver {
    public func reached(_ url: String, noAnswer: String?) {}
}
