import Fulfillment
import Synchronization

/// The apps whose submissions wait for an operator, as far as this process has seen.
final class BlockedApps: Sendable {
    private struct State {
        var blocked: Set<BundleID> = []
        /// Monotonic seconds.
        var wokenAt: [BundleID: Double] = [:]
    }

    private let state = Mutex(State())

    /// Whether that is news.
    func noteBlocked(_ bundleID: BundleID) -> Bool {
        state.withLock { $0.blocked.insert(bundleID).inserted }
    }

    /// Apple has answered for the app. Whether what is parked for it is worth another try now.
    /// - Parameter wasBlocked: this very submission was parked because the app was blocked.
    func noteAnswer(_ bundleID: BundleID, wasBlocked: Bool, now: Double) -> Bool {
        state.withLock { state in
            guard state.blocked.remove(bundleID) != nil || wasBlocked else { return false }
            if let woken = state.wokenAt[bundleID], now - woken < PipelineLimits.wakeSeconds { return false }
            state.wokenAt[bundleID] = now
            return true
        }
    }
}
