import Dispatch
import Synchronization

/// The health of the process, for `/livez` and `/readyz`: whether each part makes progress, and which conditions are
/// unmet.
///
/// Any thread may call it. A beat takes one short lock.
public final class Health: Sendable {
    /// A part that must make progress, even while it is idle. The part must also make progress while Kafka, PostgreSQL
    /// or Apple cannot be reached, because a restart of the worker would not help then. So a loop that waits for
    /// PostgreSQL is no part here: a COMMIT waits for the standby without a time limit.
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

        /// The longest time between two beats.
        public var maximumAge: Duration {
            switch self {
            case .consumerLoop: .seconds(60)
            case .outcomePublisher, .parkedLoop, .heldLoop, .announcedLoop, .notificationLoop, .historyLoop,
                .subscriptionLoop, .accountLoop, .finishLoop, .refundRequestLoop, .consumptionLoop:
                .seconds(120)
            }
        }
    }

    /// A condition of readiness. The conditions in `atStart` are unmet at first. The process is also unready while a
    /// needed part fails (`FailingPart.isNeeded`).
    public enum ReadinessCondition: Int, CaseIterable, Sendable {
        /// PostgreSQL has answered once. A later outage is a failure of `FailingPart.postgresql`, and not of this
        /// condition.
        case databaseReachable, schemaCurrent, catalogImported
        case brokerReached, joinedGroup
        /// Kafka has described every needed topic once. Later trouble is a failure of `FailingPart.topics`.
        case topicsFound
        /// Kafka answers the worker's fetches from the submissions topic.
        case submissionsFetched
        /// Kafka acknowledged the last published event, or no event waits for its acknowledgement.
        case outcomesAcknowledged
        case notStopping
    }

    private struct State {
        /// The time of each part's last beat, in monotonic nanoseconds. A part is watched from its first beat on.
        /// Before that, `/readyz` shows that the process is still starting.
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

    /// The conditions that must be met before a worker connects to Kafka.
    private static let ofDatabase: Set<ReadinessCondition> = [.databaseReachable, .schemaCurrent, .catalogImported]

    public let failures: Failures
    private let now: @Sendable () -> UInt64
    private let state: Mutex<State>

    /// - Parameters:
    ///   - needs: the conditions of `atStart` that this process needs; nil for all of them, as in a worker.
    ///   - now: returns monotonic nanoseconds.
    public init(
        failures: Failures = Failures(), needing needs: Set<ReadinessCondition>? = nil,
        now: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }
    ) {
        self.failures = failures
        self.now = now
        state = Mutex(State(unmet: Self.atStart.filter { needs?.contains($0.key) ?? true }))
    }

    /// Notes that `part` makes progress. From its first beat on the part is watched.
    public func beat(_ part: Part) {
        let now = now()
        state.withLock { $0.beats[part] = now }
    }

    /// Ends the watch of a part that stops in order.
    public func retire(_ part: Part) {
        state.withLock { $0.beats[part] = nil }
    }

    /// Sets whether a condition is met. Returns true if that is a change, so that the caller logs each change once.
    /// - Parameter reason: a clause that says why the condition is unmet, without secrets; nil if the condition is met.
    @discardableResult
    public func set(_ condition: ReadinessCondition, unmet reason: String?) -> Bool {
        state.withLock { state in
            let before = state.unmet.updateValue(reason ?? "", forKey: condition)
            if reason == nil { state.unmet[condition] = nil }
            return (before == nil) != (reason == nil)
        }
    }

    /// A clause for each part that is stuck; empty if there is none.
    public var stuck: [String] {
        let beats = state.withLock { $0.beats }
        // This reads the clock after the beats, so that `now` is not earlier than a beat.
        let now = now()
        return Part.allCases.compactMap { part in
            guard let beat = beats[part], now > beat else { return nil }
            let age = Duration.nanoseconds(Int64(clamping: now - beat))
            guard age > part.maximumAge else { return nil }
            return
                "\(part.rawValue): no progress for \(age.components.seconds) s, limit \(part.maximumAge.components.seconds) s"
        }
    }

    /// A clause for each reason why the process is not ready, in the order of the start; empty if the process is ready.
    public var unmet: [String] {
        let unmet = state.withLock { $0.unmet }
        // A worker connects to Kafka only after the conditions of the database are met. Until then this list leaves out
        // Kafka's conditions.
        let waitsForDatabase = Self.ofDatabase.contains { unmet[$0] != nil }
        return ReadinessCondition.allCases.compactMap { condition in
            let isUntried = !Self.ofDatabase.contains(condition) && unmet[condition] == Self.atStart[condition]
            return waitsForDatabase && isUntried ? nil : unmet[condition]
        } + failures.unmet
    }

    /// Clauses about trouble that does not make the process unready.
    public var notes: [String] { failures.notes }

    public func livez() -> (ok: Bool, text: String) { Self.answer(stuck, well: "ok") }

    public func readyz() -> (ok: Bool, text: String) { Self.answer(unmet, well: "ready", notes) }

    private static func answer(_ problems: [String], well: String, _ notes: [String] = []) -> (ok: Bool, text: String) {
        (problems.isEmpty, ((problems.isEmpty ? [well] : problems) + notes).map { $0 + "\n" }.joined())
    }
}
