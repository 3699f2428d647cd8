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
        /// The earlier records of the partition that are not known to be done.
        var ahead: Int64
        /// The records of the partition that are not known to be done.
        var lag: Int64
        /// Whether the record's key is the player's id. If not, the player's records may be decided out of order.
        var isKeyedByPlayer = true
        /// The fields that cannot be read and are ignored.
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
        /// False if records were left unread. A search of the newest events also counts as complete once it found an
        /// answer.
        var isComplete: Bool
    }

    package var waiting: [Waiting] = []
    var answers: [Answer] = []
    var looks: [Look] = []
    /// The reason, in words, why the search in Kafka is incomplete; nil if it is complete.
    var fault: String?

    /// Makes the findings of a search without Kafka.
    package init() {}

    /// Returns the submissions that have no answer in PostgreSQL or on the outcomes topic.
    /// - Parameters:
    ///   - outcomes: the inspection's rows of decided submissions.
    ///   - parked: the inspection's parked rows.
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

    /// Returns the answers that PostgreSQL does not show: local refusals, and answers older than the search.
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
