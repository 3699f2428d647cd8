import Dispatch
import Synchronization

/// The answers of `/livez` and `/readyz`: whether each part of the process makes progress, and its unmet conditions.
///
/// Any thread; a beat is one short lock.
public final class Health: Sendable {
    /// A part that must show progress, also while it is idle or while Kafka, PostgreSQL or Apple is away, because a
    /// restart would not bring them back. A part is not watched while it waits for PostgreSQL: a COMMIT may take as
    /// long as a standby is away, and no time-out ends the wait.
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

    /// A condition of readiness. Readiness also demands that no needed part fails (`FailingPart.isNeeded`). The
    /// conditions of the start are unmet at first.
    public enum ReadinessCondition: Int, CaseIterable, Sendable {
        /// Conditions of the start: PostgreSQL has answered once. Later outages are `FailingPart.postgresql`.
        case databaseReachable, schemaCurrent, catalogImported
        case brokerReached, joinedGroup
        /// A condition of the start: Kafka has described every needed topic. Later trouble is `FailingPart.topics`.
        case topicsFound
        /// Kafka answers the fetches of submissions.
        case submissionsFetched
        /// Kafka acknowledged the last publication, or no publication is pending.
        case outcomesAcknowledged
        case notStopping
    }

    private struct State {
        /// The time of each part's last beat, in monotonic nanoseconds. A part that never beat is not watched yet,
        /// because `/readyz` reports the start.
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
    ///   - needs: the conditions of the start that this process has; nil for all, as a worker has.
    ///   - now: returns monotonic nanoseconds.
    public init(
        failures: Failures = Failures(), needing needs: Set<ReadinessCondition>? = nil,
        now: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    ) {
        self.failures = failures
        self.now = now
        state = Mutex(State(unmet: Self.atStart.filter { needs?.contains($0.key) ?? true }))
    }

    /// Notes that `part` makes progress. The first beat begins the watch.
    public func beat(_ part: Part) {
        let now = now()
        state.withLock { $0.beats[part] = now }
    }

    /// Ends the watch of a part that stops on purpose.
    public func retire(_ part: Part) {
        state.withLock { $0.beats[part] = nil }
    }

    /// Sets whether a condition is met. Returns true if that changed, so that the caller logs once.
    /// - Parameter reason: the reason why the condition is unmet, a clause for people without secrets; nil if met.
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
        // The clock is read after the beats, so that no beat is later than `now`.
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
        // A worker asks Kafka only once the database is ready. Until then Kafka's conditions are not listed as failed.
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
