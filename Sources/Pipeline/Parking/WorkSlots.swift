import Fulfillment
import Operations
import Synchronization

/// Counts the slots in memory: submissions of fresh records, those of them that retry, and leased work.
final class WorkSlots: Sendable {
    /// Some of the records in memory.
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
        /// The places behind its earlier ones.
        var behind = Places()

        /// The places of submissions behind retrying ones; none if only first tries wait.
        var behindRetrying: Places { retrying > 0 ? behind : Places() }
    }

    private struct State {
        var fresh = 0
        var retrying = Places()
        /// The places behind their players' earlier ones that retry.
        var behindRetrying = Places()
        /// The lanes without those that hold nothing.
        var lanes: [PlayerID: Lane] = [:]
        var leased = 0
        /// Leases that are being taken.
        var leasing = 0
        var isLeasingPaused = false
        /// The parts that wait for all other leased work to end.
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

    /// The most retrying submissions: half of the window, whether Apple is down or not. The other half is for first
    /// tries, which find out whom Apple answers.
    let mostRetrying: Places
    /// The most leased work while fresh work is in memory: a fifth of the window and of Apple's concurrency.
    let maximumLeased: Int
    /// The most leased work while there is no fresh work; the other half is free for new records.
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

    /// Nothing leased is under way, nothing is being leased, and nothing is in isolation.
    var isLeasingIdle: Bool { state.withLock { $0.leased == 0 && $0.leasing == 0 && !$0.isIsolating } }

    /// While it is paused, nothing is leased.
    func setLeasingPaused(_ isPaused: Bool) { state.withLock { $0.isLeasingPaused = isPaused } }

    /// False while leasing is paused, and while one is tried in isolation or is about to be.
    func beginLeasing() -> Bool {
        state.withLock { state in
            guard !state.isLeasingPaused, !state.isIsolating, state.waitingToIsolate.isEmpty else { return false }
            state.leasing += 1
            return true
        }
    }

    func endLeasing() { state.withLock { $0.leasing -= 1 } }

    /// True where one may be leased to be tried with nothing else leased beside it, by whichever source. Where it may not,
    /// nothing further is leased until it may, or does not have to any more.
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

    /// There is nothing to isolate any more.
    func doNotIsolate(for source: FailingPart) { state.withLock { _ = $0.waitingToIsolate.remove(source) } }

    /// Notes that the try is over, or no longer suspected.
    func endIsolating() { state.withLock { $0.isIsolating = false } }

    /// The number of further rows that may be leased.
    var roomForLeases: Int {
        state.withLock { max(0, ($0.fresh > 0 ? maximumLeased : maximumLeasedWhenIdle) - $0.leased) }
    }

    /// False where retrying submissions have all the slots that they may have.
    /// - Parameter player: whose later ones wait behind it; nil where none does.
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

    /// Whether what retries and what waits behind it have no more than half of the window together: else whoever retries
    /// leaves it, for those behind it take places of first tries.
    var isWithinRetryShare: Bool { state.withLock { ($0.retrying + $0.behindRetrying).isWithin(mostRetrying) } }

    /// The places of retrying submissions and those behind them, as far as they are within the share: nobody waits for
    /// room for these.
    var held: Places {
        state.withLock { state in
            let held = state.retrying + state.behindRetrying
            return Places(
                records: min(held.records, mostRetrying.records), bytes: min(held.bytes, mostRetrying.bytes))
        }
    }
}
