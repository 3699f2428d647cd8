import Fulfillment
import Operations
import Synchronization

/// Counts the work in memory: first tries, retrying submissions, and leased work.
final class WorkSlots: Sendable {
    /// The number of records in memory, and their bytes.
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
        /// The places of the player's records that wait for the player's earlier records.
        var behind = Places()

        /// The places of the player's records that wait for a retrying submission; zero if the player has no retrying
        /// submission.
        var behindRetrying: Places { retrying > 0 ? behind : Places() }
    }

    private struct State {
        var fresh = 0
        var retrying = Places()
        /// The places of all records that wait for retrying submissions of their players.
        var behindRetrying = Places()
        /// The lanes by player. An empty lane has no entry.
        var lanes: [PlayerID: Lane] = [:]
        var leased = 0
        /// The number of sources that are leasing now.
        var leasing = 0
        var isLeasingPaused = false
        /// The sources that have a row to isolate, and wait until all leased work has ended.
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

    /// The most retrying submissions: half of the window, even during an outage of Apple. The other half is for first
    /// tries, which show whether Apple answers.
    let mostRetrying: Places
    /// The most leased work while first tries are in memory. It is a fifth of the window, or of Apple's concurrency if
    /// that is smaller.
    let maximumLeased: Int
    /// The most leased work while no first try is in memory: half of the slots. The other half stays free for new
    /// records.
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

    /// True if no leased work is in progress, no source is leasing, and no row is isolated.
    var isLeasingIdle: Bool { state.withLock { $0.leased == 0 && $0.leasing == 0 && !$0.isIsolating } }

    /// Pauses leasing, or ends the pause.
    func setLeasingPaused(_ isPaused: Bool) { state.withLock { $0.isLeasingPaused = isPaused } }

    /// Begins leasing. Returns false while leasing is paused, and while a source isolates a row or waits to isolate a
    /// row.
    func beginLeasing() -> Bool {
        state.withLock { state in
            guard !state.isLeasingPaused, !state.isIsolating, state.waitingToIsolate.isEmpty else { return false }
            state.leasing += 1
            return true
        }
    }

    func endLeasing() { state.withLock { $0.leasing -= 1 } }

    /// Begins the isolation of one row. If this returns true, the source may lease a row and try it, with nothing else
    /// leased by any source. If other rows are leased, returns false. Then no source leases more until this source has
    /// isolated its row or calls `doNotIsolate`.
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

    /// Notes that the source has no row to isolate any more.
    func doNotIsolate(for source: FailingPart) { state.withLock { _ = $0.waitingToIsolate.remove(source) } }

    /// Notes that the isolated try is over, or that its time for isolation is over.
    func endIsolating() { state.withLock { $0.isIsolating = false } }

    /// The number of rows that may be leased in addition.
    var roomForLeases: Int {
        state.withLock { max(0, ($0.fresh > 0 ? maximumLeased : maximumLeasedWhenIdle) - $0.leased) }
    }

    /// Takes a slot for a retrying submission. Returns false if all such slots are taken.
    /// - Parameter player: the player whose later submissions wait for this submission; nil if no submission can wait
    ///   for it.
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

    /// True if retrying submissions, and the submissions that wait for them, use at most half of the window. If they
    /// use more, first tries lack places, so a retrying submission must leave memory.
    var isWithinRetryShare: Bool { state.withLock { ($0.retrying + $0.behindRetrying).isWithin(mostRetrying) } }

    /// The places of retrying submissions and of the submissions that wait for them, up to half of the window. The
    /// window does not wait for these places to become free.
    var held: Places {
        state.withLock { state in
            let held = state.retrying + state.behindRetrying
            return Places(
                records: min(held.records, mostRetrying.records), bytes: min(held.bytes, mostRetrying.bytes))
        }
    }
}
