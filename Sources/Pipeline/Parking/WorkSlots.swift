import Synchronization

/// Who has how many slots in memory: submissions of fresh records, those of them that retry, and leased work.
final class WorkSlots: Sendable {
    private struct State {
        var fresh = 0
        var retrying = 0
        var leased = 0
        /// Leases that are being taken.
        var leasing = 0
        var isLeasingPaused = false
    }

    /// Of retrying submissions: half of the window.
    let maximumRetrying: Int
    /// Of leased work while fresh work is in memory: a fifth of the window and of Apple's concurrency.
    let maximumLeased: Int
    /// Of leased work while there is no fresh work; the other half is free for what comes.
    let maximumLeasedWhenIdle: Int
    private let state = Mutex(State())

    init(maximumInFlight: Int, appleConcurrency: Int) {
        let slots = min(maximumInFlight, appleConcurrency)
        maximumRetrying = maximumInFlight / 2
        maximumLeased = max(1, slots / 5)
        maximumLeasedWhenIdle = max(1, slots / 2)
    }

    func freshBegan() { state.withLock { $0.fresh += 1 } }
    func freshEnded() { state.withLock { $0.fresh -= 1 } }
    func leasesBegan(_ count: Int) { state.withLock { $0.leased += count } }
    func leaseEnded() { state.withLock { $0.leased -= 1 } }

    var leased: Int { state.withLock { $0.leased } }

    /// Nothing leased is under way, and nothing is being leased.
    var isLeasingIdle: Bool { state.withLock { $0.leased == 0 && $0.leasing == 0 } }

    /// While it is paused, nothing is leased.
    func setLeasingPaused(_ isPaused: Bool) { state.withLock { $0.isLeasingPaused = isPaused } }

    /// False while leasing is paused.
    func beginLeasing() -> Bool {
        state.withLock { state in
            guard !state.isLeasingPaused else { return false }
            state.leasing += 1
            return true
        }
    }

    func endLeasing() { state.withLock { $0.leasing -= 1 } }

    /// How many more may be leased.
    var roomForLeases: Int {
        state.withLock { max(0, ($0.fresh > 0 ? maximumLeased : maximumLeasedWhenIdle) - $0.leased) }
    }

    /// False where retrying submissions have all the slots that they may have.
    func beginRetrying() -> Bool {
        state.withLock { state in
            guard state.retrying < maximumRetrying else { return false }
            state.retrying += 1
            return true
        }
    }

    func endRetrying() { state.withLock { $0.retrying -= 1 } }
}
