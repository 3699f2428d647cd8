import Fulfillment

/// Hears of the limits' decisions, for metrics and log lines. It is called from any thread under a lock, and must
/// neither block nor call back.
public protocol AppleLimitsObserver: Sendable {
    /// Called once with false, too, when an app and endpoint are first used.
    func circuit(bundleID: BundleID, endpoint: String, isOpen: Bool)
    /// An app's credentials for an endpoint turned out to be wrong, or wrong for another reason; nil: they are right
    /// again.
    func credentials(bundleID: BundleID, endpoint: String, fault: CredentialsFault?)
    /// Apple refused the app's shared secret with several players' receipts, none of them proven, and has taken none
    /// since; or it took one. Nobody is held back for it, because such receipts may be another app's.
    func credentials(bundleID: BundleID, areDoubted: Bool)
    /// Apple asked for no request for so many seconds.
    func held(_ scope: AppleScope, seconds: Double)
    func concurrency(limit: Int)
    /// Apple as a whole went down or came back. `seconds` is the time for which it was down.
    func apple(isDown: Bool, afterSeconds seconds: Double)
    /// A request had to wait so many seconds for a circuit, a `Retry-After` or the budget.
    func waited(seconds: Double)
    /// The budget that all replicas share cannot be used. Requests that need it wait.
    func budgetFailed(_ error: any Error)
    /// Called when the budget answered.
    func budgetAnswered()
}
