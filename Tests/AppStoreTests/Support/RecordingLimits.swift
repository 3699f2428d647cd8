import AppStore
import Fulfillment
import Synchronization

/// Hears what the limits decide, and lets a test wait for it.
final class RecordingLimits: AppleLimitsObserver {
    struct Heard {
        var openCircuits: Set<BundleID> = []
        var misconfigured: Set<BundleID> = []
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
        var waiters: [(condition: @Sendable (Heard) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var heard: Heard { state.withLock { $0.heard } }

    func waitUntil(_ condition: @escaping @Sendable (Heard) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isTrue = state.withLock { state in
                if condition(state.heard) { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if isTrue { continuation.resume() }
        }
    }

    private func hear(_ change: (inout Heard) -> Void) {
        let due = state.withLock { state in
            change(&state.heard)
            let heard = state.heard
            let due = state.waiters.filter { $0.condition(heard) }
            state.waiters.removeAll { $0.condition(heard) }
            return due.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
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

    func credentials(bundleID: BundleID, endpoint: String, areWrong: Bool) {
        hear { heard in
            if areWrong { heard.misconfigured.insert(bundleID) } else { heard.misconfigured.remove(bundleID) }
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

    func budgetOutOfReach() {}
}
