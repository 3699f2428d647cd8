import Encodings
import Kafka

/// Tracks which submissions still wait for their answer. The wait is over at the deadline, or earlier if both are
/// true: each submission has an event, and `rest` has passed since the last event.
package struct AnswerWait: Sendable {
    /// The wait for further events. It is short, because Kafka gets all events of a submission at nearly the same time.
    private static let rest = Duration.milliseconds(500)

    private var open: Set<String>
    private let wanted: Set<String>
    private let deadline: ContinuousClock.Instant
    private var answeredAt: ContinuousClock.Instant?

    package var unanswered: [String] { open.sorted() }

    package init(for submissions: [String], until deadline: ContinuousClock.Instant) {
        wanted = Set(submissions)
        open = wanted
        self.deadline = deadline
    }

    /// Notes an event. Returns true if the event belongs to one of the submissions.
    package mutating func take(_ event: [UInt8], now: ContinuousClock.Instant) -> Bool {
        guard case .string(let id)? = try? JSONParser.parse(event).value["submission_id"], wanted.contains(id) else {
            return false
        }
        open.remove(id)
        answeredAt = now
        return true
    }

    package func isOver(_ now: ContinuousClock.Instant) -> Bool {
        if now >= deadline { return true }
        guard open.isEmpty else { return false }
        return answeredAt.map { now - $0 >= Self.rest } ?? true
    }
}
