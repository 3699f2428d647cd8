import Fulfillment

/// Gets the decisions of `AppleLimits`, for metrics and log lines. Calls come from any thread, inside a lock. An
/// observer must neither block nor call `AppleLimits`.
public protocol AppleLimitsObserver: Sendable {
    /// Called when the circuit of an app's endpoint opens or closes, and once with false when the app first uses the
    /// endpoint.
    func circuit(bundleID: BundleID, endpoint: String, isOpen: Bool)
    /// Called when the fault of an app's credentials for an endpoint changes. `fault` is nil if the credentials are
    /// right again.
    func credentials(bundleID: BundleID, endpoint: String, fault: CredentialsFault?)
    /// Called with true when Apple has refused the app's shared secret for unproven receipts of several players, and
    /// has accepted no receipt in between. Called with false when this doubt ends. The doubt holds no submission back,
    /// because the unproven receipts may be another app's.
    func credentials(bundleID: BundleID, areDoubted: Bool)
    /// Called when Apple asked receiptd to send nothing to the scope for `seconds`.
    func held(_ scope: AppleScope, seconds: Double)
    func concurrency(limit: Int)
    /// Called when Apple as a whole goes down or comes back. `seconds` is the time for which Apple
    /// was down; 0 when Apple goes down.
    func apple(isDown: Bool, afterSeconds seconds: Double)
    /// Called when a request has waited `seconds` for a circuit, a `Retry-After` or the budget.
    func waited(seconds: Double)
    /// Called when the shared budget is out of reach. Requests that need the budget wait.
    func budgetFailed(_ error: any Error)
    /// Called when the shared budget answered.
    func budgetAnswered()
}
