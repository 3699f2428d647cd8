import Fulfillment
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Isolates notifications of Apple's history that kill the process. After several leases of a history without progress,
/// the worker takes each notification with nothing else in flight. Before it takes a notification, it writes the
/// notification's name to the database.
extension NotificationHistoryPoll {
    /// The seconds between two checks whether this member has the turn.
    private static let turnLookSeconds = 0.02

    /// Runs `body` beside the process's other work. Throws `Abandoned` if a member that isolates does not pass the turn
    /// in time.
    func beside<Value>(_ scope: HistoryScope, _ body: () async throws -> Value) async throws -> Value {
        try await wait { turn.begin(.history(scope)) }
        defer { turn.ended(.history(scope)) }
        return try await body()
    }

    /// Works on a notification with nothing else in flight. Returns the histories of the databases in which its effects
    /// are durable; nil if another replica has the lease.
    func enterIsolated(_ body: [UInt8], _ place: inout HistoryPlace) async throws -> Set<DatabaseHistory>? {
        let member = IsolationTurn.Member.history(place.scope)
        defer { turn.pass(member) }
        try await wait { turn.take(member) }
        let name = NotificationName.digest(of: body)
        let deaths = place.culprit.flatMap { $0.name == name ? $0.deaths : nil } ?? 0
        guard deaths >= CrashHistory.deathsOfPoison else {
            guard let named = try await source.places.suspect(name, place, seconds: Self.leaseSeconds) else {
                return nil
            }
            suspects.named(name, of: place.scope)
            let accused = AccusedPlace(named, of: name, in: source.places, seconds: Self.leaseSeconds)
            let accusation = Accusation { await accused.change(isAtWork: $0) }
            let effects = try await Suspected.$work.withValue(accusation) { try await work(on: [body]) }
            // The worker withdraws the accusation before it requests the next page from Apple. So no death counts
            // during that request.
            await accusation.waits()
            guard let renewed = accused.place else { return nil }
            place = renewed
            return effects
        }
        worker.logger.error(
            "a notification from Apple's history crashes the process: it becomes a dead letter",
            [.bundleID: "\(place.scope.bundleID)", .count: .stringConvertible(deaths)])
        let letter = DeadLetter(
            reason: .crashed,
            detail: "the process died \(deaths) times while only this notification was in flight")
        try await worker.bury(received(body).record, letter)
        try await source.places.setAside(name, place)
        place.setAside.insert(name)
        return []
    }

    /// Waits until `isReady` returns true. If that takes too long, throws `Abandoned`. This ends the round, and a later
    /// round continues.
    private func wait(_ isReady: () -> Bool) async throws {
        let deadline = WallClock.monotonicSeconds + BatchedTopicLimits.turnSeconds
        while !isReady() {
            guard !Task.isCancelled, WallClock.monotonicSeconds < deadline else { throw Abandoned() }
            try await Task.sleep(for: .seconds(Self.turnLookSeconds))
        }
    }
}

/// For each history, the last notification that this process isolated and survived.
final class HistorySuspects: Sendable {
    private let names = Mutex<[HistoryScope: Digest256]>([:])

    func named(_ name: Digest256, of scope: HistoryScope) { names.withLock { $0[scope] = name } }

    func last(of scope: HistoryScope) -> Digest256? { names.withLock { $0[scope] } }
}

/// The worker's place in Apple's history while it isolates one notification. The row has the notification's name only
/// while the worker works on the notification. Each write of the name extends the history's lease.
private final class AccusedPlace: Sendable {
    private let name: Digest256
    private let places: any HistoryPlaces
    private let seconds: Double
    private let current: Mutex<HistoryPlace?>

    init(_ place: HistoryPlace, of name: Digest256, in places: any HistoryPlaces, seconds: Double) {
        self.name = name
        self.places = places
        self.seconds = seconds
        current = Mutex(place)
    }

    /// The place; nil if another replica has the lease.
    var place: HistoryPlace? { current.withLock { $0 } }

    /// Writes or removes the notification's name, and returns whether the change is durable. If the lease is lost,
    /// returns true, because no death can count against the notification any more.
    func change(isAtWork: Bool) async -> Bool {
        guard let place else { return true }
        do {
            let renewed = try await places.suspect(isAtWork ? name : nil, place, seconds: seconds)
            current.withLock { $0 = renewed }
            return true
        } catch {
            return false
        }
    }
}
