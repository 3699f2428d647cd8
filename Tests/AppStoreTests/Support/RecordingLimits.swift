import AppStore
import Dispatch
import Fulfillment
import Synchronization
import Testing

/// An observer that records the limits' decisions, and lets a test wait for a decision.
final class RecordingLimits: AppleLimitsObserver {
    struct Heard {
        var openCircuits: Set<BundleID> = []
        /// The faults by app and endpoint.
        var faults: [BundleID: [String: CredentialsFault]] = [:]
        var misconfigured: Set<BundleID> { Set(faults.filter { !$0.value.isEmpty }.keys) }
        var doubted: Set<BundleID> = []
        var circuitsOpened = 0
        var holds: [AppleScope: Double] = [:]
        var limit = 0
        var highestLimit = 0
        var isDown = false
        var timesDown = 0
        var waits = 0
    }

    private struct State {
        var heard = Heard()
        var waiters: [Waiter] = []
        var waits = 0
    }

    private let state = Mutex(State())

    var heard: Heard { state.withLock { $0.heard } }

    private struct Waiter {
        let number: Int
        let condition: @Sendable (Heard) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// Waits until the condition holds. Records a failure after 45 seconds, a time that no machine needs.
    func waitUntil(_ condition: @escaping @Sendable (Heard) -> Bool) async {
        let came = await withCheckedContinuation { continuation in
            let number = state.withLock { state -> Int? in
                if condition(state.heard) { return nil }
                state.waits += 1
                state.waiters.append(Waiter(number: state.waits, condition: condition, continuation: continuation))
                return state.waits
            }
            guard let number else { return continuation.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 45) { self.giveUp(number) }
        }
        #expect(came, "what was waited for did not come")
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }

    private func hear(_ change: (inout Heard) -> Void) {
        let due = state.withLock { state in
            change(&state.heard)
            let heard = state.heard
            let due = state.waiters.filter { $0.condition(heard) }
            state.waiters.removeAll { $0.condition(heard) }
            return due.map(\.continuation)
        }
        for continuation in due { continuation.resume(returning: true) }
    }

    func circuit(bundleID: BundleID, endpoint: String, isOpen: Bool) {
        hear { heard in
            if isOpen {
                heard.openCircuits.insert(bundleID)
                heard.circuitsOpened += 1
            } else {
                heard.openCircuits.remove(bundleID)
            }
        }
    }

    func credentials(bundleID: BundleID, endpoint: String, fault: CredentialsFault?) {
        hear { $0.faults[bundleID, default: [:]][endpoint] = fault }
    }

    func credentials(bundleID: BundleID, areDoubted: Bool) {
        hear { heard in
            if areDoubted { heard.doubted.insert(bundleID) } else { heard.doubted.remove(bundleID) }
        }
    }

    func held(_ scope: AppleScope, seconds: Double) { hear { $0.holds[scope] = seconds } }

    func concurrency(limit: Int) {
        hear { heard in
            heard.limit = limit
            heard.highestLimit = max(heard.highestLimit, limit)
        }
    }

    func apple(isDown: Bool, afterSeconds seconds: Double) {
        hear { heard in
            heard.isDown = isDown
            if isDown { heard.timesDown += 1 }
        }
    }

    func waited(seconds: Double) { hear { $0.waits += 1 } }

    func budgetFailed(_ error: any Error) {}
    func budgetAnswered() {}
}
