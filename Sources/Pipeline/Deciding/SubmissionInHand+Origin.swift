import Fulfillment
import Kafka

extension SubmissionInHand {
    /// The origin, which decides where it goes back to while it has no verdict: it waits in memory or is parked, or it is
    /// parked again.
    enum Origin: Sendable {
        case record(AdmittedRecord)
        /// Leased from the parked submissions. Boxed: few come from there.
        indirect case parked(LeasedSubmission)
    }

    var parked: LeasedSubmission? {
        if case .parked(let leased) = origin { leased } else { nil }
    }

    var isParked: Bool {
        if case .parked = origin { true } else { false }
    }

    /// A parked submission moves no offset and waits for no turn.
    var ticket: PlayerLanes.Ticket? {
        if case .record(let admitted) = origin { admitted.ticket } else { nil }
    }

    /// A record that got no ticket: its player has all the places in memory that one may have.
    var isBeyondShare: Bool {
        if case .record(let admitted) = origin { admitted.ticket == nil } else { false }
    }

    /// Nothing else is in flight, and a death of the process counts against this record.
    var isIsolated: Bool {
        if case .record(let admitted) = origin { admitted.isIsolated } else { false }
    }

    /// A record that its workers died of in isolation.
    var isSetAside: Bool {
        if case .record(let admitted) = origin { admitted.isSetAside } else { false }
    }

    /// Whether this very record may have been answered before.
    var mayBeRedelivered: Bool {
        switch origin {
        case .record(let admitted): admitted.mayBeRedelivered
        case .parked: true
        }
    }

    /// The database was restored to an earlier state, and may have lost a decision on it that was told.
    var isDecidedAgain: Bool {
        switch origin {
        case .record(let admitted): admitted.isDecidedAgain
        case .parked(let leased): leased.isDecidedAgain
        }
    }

    /// W3C trace context of the record, nil where it had none.
    var traceparent: String? {
        switch origin {
        case .record(let admitted): admitted.record.traceparent
        case .parked(let leased): leased.traceparent
        }
    }
}

/// The consumer's view of a submission.
extension SubmissionInHand {
    var topicPartition: TopicPartition { TopicPartition(topic: position.topic, partition: position.partition) }

    /// The submission's bytes in memory, about. 0 where it was leased: those are few.
    var byteCount: Int {
        if case .record(let admitted) = origin { admitted.byteCount } else { 0 }
    }

    /// No assignment is 0.
    var assignment: UInt64 {
        if case .record(let admitted) = origin { admitted.assignment } else { 0 }
    }

    var epoch: Int {
        if case .record(let admitted) = origin { admitted.epoch } else { 0 }
    }
}
