import Fulfillment
import Operations
import Synchronization

/// Counts the slots in memory: those of fresh submissions, of retrying ones, and of leased work.
final class WorkSlots: Sendable {
    /// A number of records in memory, with their bytes.
    struct Places: Sendable, Equatable {
        var records = 0
        var bytes = 0

        static func + (one: Self, other: Self) -> Self {
            Self(records: one.records + other.records, bytes: one.bytes + other.bytes)
        }

        static func - (one: Self, other: Self) -> Self {
            Self(records: one.records - other.records, bytes: one.bytes - other.bytes)
        }

        func isWithin(_ limit: Self) -> Bool { records <= limit.records && bytes <= limit.bytes }
    }

    /// One player's records in memory.
    private struct Lane: Equatable {
        var retrying = 0
        /// The places of records behind its earlier ones.
        var behind = Places()

        /// The places behind retrying submissions; none if only first tries wait.
        var behindRetrying: Places { retrying > 0 ? behind : Places() }
    }

    private struct State {
        var fresh = 0
        var retrying = Places()
        /// The places of records behind their players' retrying ones.
        var behindRetrying = Places()
        /// The lanes by player, without empty ones.
        var lanes: [PlayerID: Lane] = [:]
        var leased = 0
        /// The number of sources that are leasing.
        var leasing = 0
        var isLeasingPaused = false
        /// The sources that wait for all other leased work to end.
        var waitingToIsolate: Set<FailingPart> = []
        var isIsolating = false

        mutating func change(_ player: PlayerID?, _ change: (inout Lane) -> Void) {
            guard let player else { return }
            var lane = lanes[player] ?? Lane()
            behindRetrying = behindRetrying - lane.behindRetrying
            change(&lane)
            behindRetrying = behindRetrying + lane.behindRetrying
            lanes[player] = lane == Lane() ? nil : lane
        }
    }

    /// The most retrying submissions: half of the window, whether Apple is down or not. First tries have the other
    /// half, because they find out whom Apple answers.
    let mostRetrying: Places
    /// The most leased work while fresh work is in memory: a fifth of the window and of Apple's concurrency.
    let maximumLeased: Int
    /// The most leased work while there is no fresh work. The other half is free for new records.
    let maximumLeasedWhenIdle: Int
    private let state = Mutex(State())

    init(maximumInFlight: Int, appleConcurrency: Int) {
        let slots = min(maximumInFlight, appleConcurrency)
        mostRetrying = Places(records: maximumInFlight / 2, bytes: IntakeWindow.maximumBytes / 2)
        maximumLeased = max(1, slots / 5)
        maximumLeasedWhenIdle = max(1, slots / 2)
    }

    func freshBegan() { state.withLock { $0.fresh += 1 } }
    func freshEnded() { state.withLock { $0.fresh -= 1 } }
    func leasesBegan(_ count: Int) { state.withLock { $0.leased += count } }
    func leaseEnded() { state.withLock { $0.leased -= 1 } }

    var leased: Int { state.withLock { $0.leased } }

    /// True if nothing leased is under way, nothing is being leased, and nothing is in isolation.
    var isLeasingIdle: Bool { state.withLock { $0.leased == 0 && $0.leasing == 0 && !$0.isIsolating } }

    /// Pauses leasing, or ends the pause.
    func setLeasingPaused(_ isPaused: Bool) { state.withLock { $0.isLeasingPaused = isPaused } }

    /// Begins a look for leases. Returns false while leasing is paused, and while a row is isolated or is about to be.
    func beginLeasing() -> Bool {
        state.withLock { state in
            guard !state.isLeasingPaused, !state.isIsolating, state.waitingToIsolate.isEmpty else { return false }
            state.leasing += 1
            return true
        }
    }

    func endLeasing() { state.withLock { $0.leasing -= 1 } }

    /// Returns whether one row may be leased to be tried with nothing else leased beside it, by any source. If not,
    /// nothing further is leased until it may, or need not any more.
    func beginIsolating(for source: FailingPart) -> Bool {
        state.withLock { state in
            guard !state.isLeasingPaused, !state.isIsolating else { return false }
            guard state.leased == 0, state.leasing == 0 else {
                state.waitingToIsolate.insert(source)
                return false
            }
            state.waitingToIsolate.remove(source)
            state.isIsolating = true
            return true
        }
    }

    /// Notes that the source has nothing to isolate any more.
    func doNotIsolate(for source: FailingPart) { state.withLock { _ = $0.waitingToIsolate.remove(source) } }

    /// Notes that the isolated try is over, or no longer suspected.
    func endIsolating() { state.withLock { $0.isIsolating = false } }

    /// The number of further rows that may be leased.
    var roomForLeases: Int {
        state.withLock { max(0, ($0.fresh > 0 ? maximumLeased : maximumLeasedWhenIdle) - $0.leased) }
    }

    /// Takes a slot of a retrying submission. Returns false if retrying submissions have all that they may have.
    /// - Parameter player: the player whose later submissions wait behind it; nil if none do.
    func beginRetrying(of player: PlayerID? = nil, bytes: Int = 0) -> Bool {
        state.withLock { state in
            let retrying = state.retrying + Places(records: 1, bytes: bytes)
            guard retrying.isWithin(mostRetrying) else { return false }
            state.retrying = retrying
            state.change(player) { $0.retrying += 1 }
            return true
        }
    }

    func endRetrying(of player: PlayerID? = nil, bytes: Int = 0) {
        state.withLock { state in
            state.retrying = state.retrying - Places(records: 1, bytes: bytes)
            state.change(player) { $0.retrying -= 1 }
        }
    }

    func waitingBehindOthers(of player: PlayerID, bytes: Int) {
        state.withLock { $0.change(player) { $0.behind = $0.behind + Places(records: 1, bytes: bytes) } }
    }

    func endedWaitingBehindOthers(of player: PlayerID, bytes: Int) {
        state.withLock { $0.change(player) { $0.behind = $0.behind - Places(records: 1, bytes: bytes) } }
    }

    /// True if retrying submissions and those behind them have no more than half of the window together. If they have
    /// more, a retrying one leaves it, because those behind it take places of first tries.
    var isWithinRetryShare: Bool { state.withLock { ($0.retrying + $0.behindRetrying).isWithin(mostRetrying) } }

    /// The places of retrying submissions and those behind them, up to the share. Nobody waits for these to become
    /// free.
    var held: Places {
        state.withLock { state in
            let held = state.retrying + state.behindRetrying
            return Places(
                records: min(held.records, mostRetrying.records), bytes: min(held.bytes, mostRetrying.bytes))
        }
    }
}
