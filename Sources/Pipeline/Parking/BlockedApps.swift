import Fulfillment
import Synchronization

/// The apps whose submissions wait for an operator, as far as this process has seen.
final class BlockedApps: Sendable {
    /// An app's for verifyReceipt, or for the App Store Server API: that one is mended says nothing of the other.
    struct Credentials: Hashable {
        let bundleID: BundleID
        let areForReceipts: Bool
    }

    private struct State {
        var blocked: Set<Credentials> = []
        /// Monotonic seconds.
        var wokenAt: [Credentials: Double] = [:]
    }

    private let state = Mutex(State())

    /// Whether that is news.
    func noteBlocked(_ credentials: Credentials) -> Bool {
        state.withLock { $0.blocked.insert(credentials).inserted }
    }

    /// Apple has answered for the app. Whether what is parked for it is worth another try now.
    /// - Parameter wasBlocked: this very submission was parked because the app was blocked.
    func noteAnswer(_ credentials: Credentials, wasBlocked: Bool, now: Double) -> Bool {
        state.withLock { state in
            guard state.blocked.remove(credentials) != nil || wasBlocked else { return false }
            if let woken = state.wokenAt[credentials], now - woken < PipelineLimits.wakeSeconds { return false }
            state.wokenAt[credentials] = now
            return true
        }
    }
}
