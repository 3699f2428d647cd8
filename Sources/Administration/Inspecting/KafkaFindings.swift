import Encodings
import Fulfillment
import NamesAndTimes

/// Kafka's records of a submission, a transaction or a player: submissions that may wait, and answers that touch no
/// table.
package struct KafkaFindings: Sendable {
    /// A record after the group's committed offset. A worker may have it in memory, or no worker has read it.
    package struct Waiting: Sendable, Equatable {
        var submissionID: String
        var playerID: String
        var bundleID: String
        var topic: String
        var partition: Int32
        var offset: Int64
        var receivedAt: Timestamp?
        /// Records before it that are not known to be done.
        var ahead: Int64
        /// Records of its partition that are not known to be done.
        var lag: Int64
        /// False if the player's records may be decided out of order.
        var isKeyedByPlayer = true
        /// Fields that are there and mean nothing, for they cannot be read.
        var ignored: [String] = []
    }

    /// A rejection on the outcomes topic.
    package struct Answer: Sendable, Equatable {
        var eventID: String
        var reason: String
        var detail: String
        /// The `detail_code`; nil in events of earlier versions.
        var detailCode: String?
        var submissionID: String
        var playerID: String
        var occurredAt: String
        var partition: Int32
        var offset: Int64
    }

    /// The searched part of a topic.
    struct Look: Sendable, Equatable {
        var topic: String
        var partitions: Int
        var records: Int
        /// False if there was more than was read.
        var isComplete: Bool
    }

    package var waiting: [Waiting] = []
    var answers: [Answer] = []
    var looks: [Look] = []
    /// The reason why Kafka was not asked to the end, in words; nil if it was.
    var fault: String?

    /// Makes the findings of a search without Kafka.
    package init() {}

    /// The submissions that have no answer in PostgreSQL or on the outcomes topic.
    /// - Parameters:
    ///   - outcomes: rows of the inspection's decided submissions.
    ///   - parked: its rows of what waits in PostgreSQL.
    func undecided(outcomes: [JSONValue], parked: [JSONValue]) -> [Waiting] {
        let known = Set((outcomes + parked).compactMap(Self.place))
        return waiting.filter { record in
            guard !known.contains("\(record.topic)/\(record.partition)/\(record.offset)") else { return false }
            // A local answer has its record's time.
            return !answers.contains { answer in
                answer.submissionID == record.submissionID && answer.playerID == record.playerID
                    && answer.occurredAt == record.receivedAt?.rfc3339
            }
        }
    }

    /// The answers that PostgreSQL does not have: refused without asking anyone, or older than the search.
    func untold(outcomes: [JSONValue]) -> [Answer] {
        let known = Set(outcomes.compactMap { $0["event_id"]?.string })
        return answers.filter { !known.contains($0.eventID) }
    }

    private static func place(_ row: JSONValue) -> String? {
        guard let topic = row["topic"]?.string, case .number(let partition)? = row["partition"],
            case .number(let offset)? = row["offset"]
        else { return nil }
        return "\(topic)/\(partition)/\(offset)"
    }
}
