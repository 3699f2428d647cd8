import Fulfillment
import Synchronization

/// The apps whose submissions wait for an operator, as far as this process has seen.
final class BlockedApps: Sendable {
    /// An app's credentials for verifyReceipt, or for the App Store Server API. That one is mended says nothing about
    /// the other.
    struct Credentials: Hashable {
        let bundleID: BundleID
        let areForReceipts: Bool
    }

    private struct State {
        var blocked: Set<Credentials> = []
        /// The time of the last waking, in monotonic seconds.
        var wokenAt: [Credentials: Double] = [:]
    }

    private let state = Mutex(State())

    /// Notes that the credentials are refused. Returns whether that is news.
    func noteBlocked(_ credentials: Credentials) -> Bool {
        state.withLock { $0.blocked.insert(credentials).inserted }
    }

    /// Notes that Apple has answered for the app. Returns whether its parked submissions are worth another try now.
    /// - Parameter wasBlocked: true if this very submission was parked because the app was blocked.
    func noteAnswer(_ credentials: Credentials, wasBlocked: Bool, now: Double) -> Bool {
        state.withLock { state in
            guard state.blocked.remove(credentials) != nil || wasBlocked else { return false }
            if let woken = state.wokenAt[credentials], now - woken < PipelineLimits.wakeSeconds { return false }
            state.wokenAt[credentials] = now
            return true
        }
    }
}
