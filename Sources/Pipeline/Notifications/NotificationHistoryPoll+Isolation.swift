import Fulfillment
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Isolates notifications of a history that kill the process. If the history's leases ended again and again without
/// progress, each notification is taken with nothing else in flight, and named in the database first.
extension NotificationHistoryPoll {
    /// The seconds between two looks whether the others' work has ended.
    private static let turnLookSeconds = 0.02

    /// Runs `body` beside whatever else the process does.
    func beside<Value>(_ scope: HistoryScope, _ body: () async throws -> Value) async throws -> Value {
        try await wait { turn.begin(.history(scope)) }
        defer { turn.ended(.history(scope)) }
        return try await body()
    }

    /// Enters a notification with nothing else in flight, and returns the databases in which its effects are durable.
    /// Returns nil if another replica has the lease.
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
            // Apple is asked for the next page: a death meanwhile is nobody's doing.
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

    /// Waits. Throws `Abandoned` if that takes too long: the round ends, and another one comes.
    private func wait(_ isReady: () -> Bool) async throws {
        let deadline = WallClock.monotonicSeconds + BatchedTopicLimits.turnSeconds
        while !isReady() {
            guard !Task.isCancelled, WallClock.monotonicSeconds < deadline else { throw Abandoned() }
            try await Task.sleep(for: .seconds(Self.turnLookSeconds))
        }
    }
}

/// The notification of each history that this process last worked on alone, and survived.
final class HistorySuspects: Sendable {
    private let names = Mutex<[HistoryScope: Digest256]>([:])

    func named(_ name: Digest256, of scope: HistoryScope) { names.withLock { $0[scope] = name } }

    func last(of scope: HistoryScope) -> Digest256? { names.withLock { $0[scope] } }
}

/// A history while one of its notifications is taken alone. Each change of the accusation extends its lease.
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

    /// Returns whether the change is durable. If the lease is over, nothing can count against it.
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
