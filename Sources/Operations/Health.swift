import Dispatch
import Synchronization

/// The answers of `/livez` and `/readyz`: whether each part of the process makes progress, and its unmet conditions.
///
/// Any thread; a beat is one short lock.
public final class Health: Sendable {
    /// A part that must show progress, also while it is idle or Kafka, PostgreSQL or Apple is away: a restart would not
    /// fix those. Nothing that waits for PostgreSQL is watched while it does: a COMMIT may take as long as a standby is
    /// away, and no time-out ends that.
    public enum Part: String, CaseIterable, Sendable {
        case consumerLoop = "consumer loop"
        case outcomePublisher = "outcome publisher"
        case parkedLoop = "loop of parked submissions"
        case heldLoop = "loop of held transactions"
        case announcedLoop = "loop of announced purchases"
        case notificationLoop = "notification loop"
        case historyLoop = "loop of notification history"
        case subscriptionLoop = "loop of subscriptions"
        case accountLoop = "loop of players' accounts"
        case finishLoop = "loop of deliveries to report to Apple"
        case refundRequestLoop = "loop of refund requests"
        case consumptionLoop = "loop of the game's reports of consumption"

        /// The longest time from one beat to the next.
        public var maximumAge: Duration {
            switch self {
            case .consumerLoop: .seconds(60)
            case .outcomePublisher, .parkedLoop, .heldLoop, .announcedLoop, .notificationLoop, .historyLoop,
                .subscriptionLoop, .accountLoop, .finishLoop, .refundRequestLoop, .consumptionLoop:
                .seconds(120)
            }
        }
    }

    /// A condition of readiness, besides that no needed part fails (`FailingPart.isNeeded`). Those of the start are
    /// unmet at first.
    public enum ReadinessCondition: Int, CaseIterable, Sendable {
        /// Conditions of the start: PostgreSQL has answered once. Later outages are `FailingPart.postgresql`.
        case databaseReachable, schemaCurrent, catalogImported
        case brokerReached, joinedGroup
        /// A condition of the start: Kafka has described every needed topic. Later trouble is `FailingPart.topics`.
        case topicsFound
        /// Fetches of the submissions are answered.
        case submissionsFetched
        /// The last publication was acknowledged, or none is pending.
        case outcomesAcknowledged
        case notStopping
    }

    private struct State {
        /// Nanoseconds of the last beat. A part that never beat is not watched yet: `/readyz` tells of the start.
        var beats: [Part: UInt64] = [:]
        var unmet: [ReadinessCondition: String]
    }

    private static let atStart: [ReadinessCondition: String] = [
        .databaseReachable: "PostgreSQL has not been reached yet",
        .schemaCurrent: "the database schema has not been checked yet",
        .catalogImported: "the catalog has not been imported yet",
        .brokerReached: "Kafka has not been reached yet",
        .joinedGroup: "the consumer group has not been joined yet",
        .topicsFound: "Kafka has not described all topics yet",
    ]

    /// The conditions that a worker waits for before it asks Kafka anything.
    private static let ofDatabase: Set<ReadinessCondition> = [.databaseReachable, .schemaCurrent, .catalogImported]

    /// The failures of all parts that run by themselves.
    public let failures: Failures
    private let now: @Sendable () -> UInt64
    private let state: Mutex<State>

    /// - Parameters:
    ///   - needs: conditions of the start that this process has; nil: all, as a worker.
    ///   - now: returns monotonic nanoseconds.
    public init(
        failures: Failures = Failures(), needing needs: Set<ReadinessCondition>? = nil,
        now: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    ) {
        self.failures = failures
        self.now = now
        state = Mutex(State(unmet: Self.atStart.filter { needs?.contains($0.key) ?? true }))
    }

    /// Says that `part` makes progress; the first beat begins the watch.
    public func beat(_ part: Part) {
        let now = now()
        state.withLock { $0.beats[part] = now }
    }

    /// Ends the watch of a part that stops on purpose.
    public func retire(_ part: Part) {
        state.withLock { $0.beats[part] = nil }
    }

    /// Says whether a condition is met (`nil`) or why not: one clause for people, holding no secret.
    /// Returns whether that changed whether it is met, so that the caller logs once.
    @discardableResult
    public func set(_ condition: ReadinessCondition, unmet reason: String?) -> Bool {
        state.withLock { state in
            let before = state.unmet.updateValue(reason ?? "", forKey: condition)
            if reason == nil { state.unmet[condition] = nil }
            return (before == nil) != (reason == nil)
        }
    }

    /// The reasons why the process is stuck, one clause for each part; empty while all is well.
    public var stuck: [String] {
        let beats = state.withLock { $0.beats }
        // After the beats, so that none is later than now.
        let now = now()
        return Part.allCases.compactMap { part in
            guard let beat = beats[part], now > beat else { return nil }
            let age = Duration.nanoseconds(Int64(clamping: now - beat))
            guard age > part.maximumAge else { return nil }
            return
                "\(part.rawValue): no progress for \(age.components.seconds) s, limit \(part.maximumAge.components.seconds) s"
        }
    }

    /// The reasons why the process is not ready, in the order of start-up; empty when it is.
    public var unmet: [String] {
        let unmet = state.withLock { $0.unmet }
        // Kafka is asked once the database is ready: what nobody has tried yet is not told as failed.
        let waitsForDatabase = Self.ofDatabase.contains { unmet[$0] != nil }
        return ReadinessCondition.allCases.compactMap { condition in
            let isUntried = !Self.ofDatabase.contains(condition) && unmet[condition] == Self.atStart[condition]
            return waitsForDatabase && isUntried ? nil : unmet[condition]
        } + failures.unmet
    }

    /// The failures that do not make the process unready.
    public var notes: [String] { failures.notes }

    public func livez() -> (ok: Bool, text: String) { Self.answer(stuck, well: "ok") }

    public func readyz() -> (ok: Bool, text: String) { Self.answer(unmet, well: "ready", notes) }

    private static func answer(_ problems: [String], well: String, _ notes: [String] = []) -> (ok: Bool, text: String) {
        (problems.isEmpty, ((problems.isEmpty ? [well] : problems) + notes).map { $0 + "\n" }.joined())
    }
}
