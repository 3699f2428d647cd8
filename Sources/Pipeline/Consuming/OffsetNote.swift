import Fulfillment
import Kafka

/// Offsets on their way into the database, ahead of Kafka's commit.
struct OffsetNote: Sendable {
    struct Place: Sendable {
        let offset: Int64
        let assignment: UInt64
        let lap: Int
    }

    enum Outcome: Sendable {
        case noted
        /// The database is another one than that of the decisions, or fell back.
        case otherHistory
        /// It is out of reach.
        case failed
    }

    let history: DatabaseHistory
    var places: [TopicPartition: Place] = [:]

    func write(to offsets: any DurableOffsets) async throws -> Outcome {
        var byTopic: [String: [Int32: Int64]] = [:]
        for (partition, place) in places { byTopic[partition.topic, default: [:]][partition.partition] = place.offset }
        for (topic, next) in byTopic {
            guard try await offsets.note(next, topic: topic, in: history) else { return .otherHistory }
        }
        return .noted
    }
}
