import Fulfillment

/// Hears of what the limits decide: what metrics and log lines are made of. Called from any thread under a lock, and must
/// neither block nor call back.
public protocol AppleLimitsObserver: Sendable {
    /// Called once with false, too, when an app and endpoint are first used.
    func circuit(bundleID: BundleID, endpoint: String, isOpen: Bool)
    /// An app's credentials for an endpoint turned out to be wrong, wrong for another reason, or (nil) right again.
    func credentials(bundleID: BundleID, endpoint: String, fault: CredentialsFault?)
    /// Apple refused the app's shared secret with several players' receipts of which none is proven, and has taken none since;
    /// or it took one. Nobody is held back for it: such receipts may be another app's.
    func credentials(bundleID: BundleID, areDoubted: Bool)
    /// Apple asked for no request for so many seconds.
    func held(_ scope: AppleScope, seconds: Double)
    func concurrency(limit: Int)
    /// Apple as a whole went out or came back; `seconds` that it was out.
    func apple(isDown: Bool, afterSeconds seconds: Double)
    /// A request had to wait so long for a circuit, a `Retry-After` or the budget.
    func waited(seconds: Double)
    /// The budget that all replicas share cannot be used: requests that need it wait.
    func budgetFailed(_ error: any Error)
    /// Called when the budget answered.
    func budgetAnswered()
}
