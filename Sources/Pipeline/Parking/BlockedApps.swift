import Fulfillment
import Synchronization

/// The apps whose credentials are missing or refused, as far as this process knows. Their submissions wait for an
/// operator.
final class BlockedApps: Sendable {
    /// An app's credentials, either for verifyReceipt or for the App Store Server API. An operator may correct only one
    /// of the two.
    struct Credentials: Hashable {
        let bundleID: BundleID
        let areForReceipts: Bool
    }

    private struct State {
        var blocked: Set<Credentials> = []
        /// The time at which the app's submissions were last made due, in monotonic seconds.
        var wokenAt: [Credentials: Double] = [:]
    }

    private let state = Mutex(State())

    /// Notes that Apple refuses the credentials. Returns whether this is new to this process.
    func noteBlocked(_ credentials: Credentials) -> Bool {
        state.withLock { $0.blocked.insert(credentials).inserted }
    }

    /// Notes that Apple accepted the credentials. Returns whether the app's parked submissions should be made due now.
    /// - Parameter wasBlocked: true if the answered submission itself had been parked because the app was blocked.
    func noteAnswer(_ credentials: Credentials, wasBlocked: Bool, now: Double) -> Bool {
        state.withLock { state in
            guard state.blocked.remove(credentials) != nil || wasBlocked else { return false }
            if let woken = state.wokenAt[credentials], now - woken < PipelineLimits.wakeSeconds { return false }
            state.wokenAt[credentials] = now
            return true
        }
    }
}
