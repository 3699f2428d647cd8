import Fulfillment

/// Hears of the limits' decisions, for metrics and log lines. It is called from any thread under a lock, and must
/// neither block nor call back.
public protocol AppleLimitsObserver: Sendable {
    /// Called when the circuit of an app's endpoint opens or closes, and once with false when the app first uses the
    /// endpoint.
    func circuit(bundleID: BundleID, endpoint: String, isOpen: Bool)
    /// Called when an app's credentials for an endpoint turn out to be wrong, or wrong for another reason. With a nil
    /// `fault` they are right again.
    func credentials(bundleID: BundleID, endpoint: String, fault: CredentialsFault?)
    /// Called with true when Apple refused the app's shared secret with unproven receipts of several players, and has
    /// not accepted the secret since. Called with false when the doubt ends. No submission is held back for the doubt,
    /// because such receipts may belong to another app.
    func credentials(bundleID: BundleID, areDoubted: Bool)
    /// Called when Apple asked receiptd to send nothing to the scope for so many seconds.
    func held(_ scope: AppleScope, seconds: Double)
    func concurrency(limit: Int)
    /// Called when Apple as a whole goes down or comes back. `seconds` is the time for which Apple was down.
    func apple(isDown: Bool, afterSeconds seconds: Double)
    /// Called when a request has waited so many seconds for a circuit, a `Retry-After` or the budget.
    func waited(seconds: Double)
    /// Called when the budget that all replicas share cannot be used. Requests that need it wait.
    func budgetFailed(_ error: any Error)
    /// Called when the budget answered.
    func budgetAnswered()
}
