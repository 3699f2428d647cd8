import Fulfillment
import Kafka
import Synchronization

/// A parked submission under way, with the answer that it shares with others of the same app and proof.
final class ParkedWork: Sendable {
    let leased: LeasedSubmission
    let answer: AnswerOfProof

    init(leased: LeasedSubmission, answer: AnswerOfProof) {
        self.leased = leased
        self.answer = answer
    }

    var id: NameBasedUUID { leased.id }
}

/// Apple's answer to one proof. Those who share it come one after the other, in one task.
final class AnswerOfProof: Sendable {
    private let known = Mutex<AppleAnswer?>(nil)

    func value(_ ask: () async -> AppleAnswer) async -> AppleAnswer {
        if let answer = known.withLock({ $0 }) { return answer }
        let answer = await ask()
        known.withLock { $0 = answer }
        return answer
    }
}

extension InFlightRecord {
    /// A record that came back from PostgreSQL: it moves no offset and waits for no turn.
    convenience init(_ work: ParkedWork) {
        let leased = work.leased
        let headers = leased.traceparent.map { [KafkaHeader(name: "traceparent", value: Array($0.utf8))] } ?? []
        self.init(
            record: ConsumerRecord(
                topicPartition: TopicPartition(topic: leased.position.topic, partition: leased.position.partition),
                offset: leased.position.offset, timestampMilliseconds: leased.position.timestamp.milliseconds,
                headers: headers),
            position: leased.position, decoded: .submission(leased.submission), ticket: nil, assignment: 0,
            mayBeRedelivered: true, parked: work)
    }

    /// It got no ticket: its player has all the places that one may have.
    var isBeyondShare: Bool {
        guard case .submission = decoded else { return false }
        return ticket == nil && parked == nil
    }

    func sharedAnswer(_ ask: @Sendable () async -> AppleAnswer) async -> AppleAnswer {
        if let parked { await parked.answer.value(ask) } else { await ask() }
    }
}
