import Synchronization

/// Who has how many places in memory: fresh submissions, those of them that retry, and parked ones under way.
final class WorkLoad: Sendable {
    private struct State {
        var fresh = 0
        var retrying = 0
        var parked = 0
        var taking = 0
        var isHeld = false
    }

    /// Of retrying submissions: half of the window.
    let maximumRetrying: Int
    /// Of parked ones under way while fresh work waits: a fifth of the window and of Apple's concurrency.
    let maximumParked: Int
    /// Of parked ones while there is no fresh work; the other half is free for what comes.
    let maximumParkedWhenIdle: Int
    private let state = Mutex(State())

    init(maximumInFlight: Int, appleConcurrency: Int) {
        let places = min(maximumInFlight, appleConcurrency)
        maximumRetrying = maximumInFlight / 2
        maximumParked = max(1, places / 5)
        maximumParkedWhenIdle = max(1, places / 2)
    }

    func freshBegan() { state.withLock { $0.fresh += 1 } }
    func freshEnded() { state.withLock { $0.fresh -= 1 } }
    func parkedBegan(_ count: Int) { state.withLock { $0.parked += count } }
    func parkedEnded() { state.withLock { $0.parked -= 1 } }

    var parked: Int { state.withLock { $0.parked } }

    /// No parked submission is under way, and none is being taken.
    var isQuiet: Bool { state.withLock { $0.parked == 0 && $0.taking == 0 } }

    /// While it is held, no parked submission is taken up.
    func hold(_ isHeld: Bool) { state.withLock { $0.isHeld = isHeld } }

    /// False while it is held.
    func beginTaking() -> Bool {
        state.withLock { state in
            guard !state.isHeld else { return false }
            state.taking += 1
            return true
        }
    }

    func endTaking() { state.withLock { $0.taking -= 1 } }

    /// How many more parked submissions may be taken up.
    var roomForParked: Int {
        state.withLock { max(0, ($0.fresh > 0 ? maximumParked : maximumParkedWhenIdle) - $0.parked) }
    }

    /// False where retrying submissions have all the places that they may have.
    func beginRetrying() -> Bool {
        state.withLock { state in
            guard state.retrying < maximumRetrying else { return false }
            state.retrying += 1
            return true
        }
    }

    func endRetrying() { state.withLock { $0.retrying -= 1 } }
}
