import Encodings
import Fulfillment
import NamesAndTimes

/// The records in Kafka that belong to a submission, a transaction or a player: waiting submissions, and rejections.
package struct KafkaFindings: Sendable {
    /// A submission after the group's committed offset. A worker has it in memory, or no worker has polled it.
    package struct Waiting: Sendable, Equatable {
        var submissionID: String
        var playerID: String
        var bundleID: String
        var topic: String
        var partition: Int32
        var offset: Int64
        var receivedAt: Timestamp?
        /// The number of the partition's records from the committed offset up to this submission, without it.
        var ahead: Int64
        /// The number of all records of the partition from the committed offset on.
        var lag: Int64
        /// True if the record's key is the player id. If not, workers may decide the player's records out of order.
        var isKeyedByPlayer = true
        var ignored: [String] = []
    }

    /// A rejection on the outcomes topic.
    package struct Answer: Sendable, Equatable {
        var eventID: String
        var reason: String
        var detail: String
        /// The `detail_code`; nil in an event of an earlier release.
        var detailCode: String?
        var submissionID: String
        var playerID: String
        var occurredAt: String
        var partition: Int32
        var offset: Int64
    }

    struct Look: Sendable, Equatable {
        var topic: String
        var partitions: Int
        var records: Int
        /// On the submissions topic: true if the search read all records from the committed offsets on. On the outcomes
        /// topic: true if the search read all events of its partitions, or found a match among the newest events.
        var isComplete: Bool
    }

    package var waiting: [Waiting] = []
    var answers: [Answer] = []
    var looks: [Look] = []
    /// The reason why the search in Kafka is incomplete; nil if the search is complete.
    var fault: String?

    /// Makes the findings for a command that does not search Kafka.
    package init() {}

    /// Returns the submissions that have no answer in PostgreSQL or on the outcomes topic.
    /// - Parameters:
    ///   - outcomes: the rows of decided submissions that the inspection found.
    ///   - parked: the rows of parked submissions that the inspection found.
    func undecided(outcomes: [JSONValue], parked: [JSONValue]) -> [Waiting] {
        let known = Set((outcomes + parked).compactMap(Self.place))
        return waiting.filter { record in
            guard !known.contains("\(record.topic)/\(record.partition)/\(record.offset)") else { return false }
            // The event of a local answer has the time of its submission's record.
            return !answers.contains { answer in
                answer.submissionID == record.submissionID && answer.playerID == record.playerID
                    && answer.occurredAt == record.receivedAt?.rfc3339
            }
        }
    }

    /// Returns the rejections whose events have no row in `outcomes`.
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
