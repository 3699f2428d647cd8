import Fulfillment
import Kafka

/// What the consumer knows of a record that it admitted. A class: each step of its submission looks something up here.
final class AdmittedRecord: Sendable {
    /// Without its value where that was decoded: a submission holds all of it.
    let record: ConsumerRecord
    /// Bytes of the whole record in memory, about.
    let byteCount: Int
    /// Nil: its player has all the places that one may have.
    let ticket: PlayerLanes.Ticket?
    /// Counts assignments: what was admitted under an older one no longer moves offsets.
    let assignment: UInt64
    /// Counts how often offsets had fallen back under this assignment.
    let epoch: Int
    /// False where the record's offset lies above all that were ever decided in its partition.
    let mayBeRedelivered: Bool
    /// The database was put back to an earlier state, and may have lost a decision on it that was told.
    let isDecidedAgain: Bool
    /// Nothing else is in flight, and a death of the process counts against it.
    let isIsolated: Bool

    /// - Parameter isSubmission: its value was decoded as one. Of what becomes a dead letter nothing else holds it.
    init(
        record: ConsumerRecord, isSubmission: Bool = false, ticket: PlayerLanes.Ticket? = nil, assignment: UInt64,
        epoch: Int = 0,
        mayBeRedelivered: Bool, isDecidedAgain: Bool = false, isIsolated: Bool = false
    ) {
        byteCount = record.byteCount
        self.record = isSubmission ? record.withoutValue : record
        self.ticket = ticket
        self.assignment = assignment
        self.epoch = epoch
        self.mayBeRedelivered = mayBeRedelivered
        self.isDecidedAgain = isDecidedAgain
        self.isIsolated = isIsolated
    }
}

extension SubmissionInHand {
    /// Where it came from, which decides where it goes back to while it has no verdict: it waits in memory or is parked,
    /// it is parked again, or it stays held.
    enum Origin: Sendable {
        case record(AdmittedRecord)
        /// Leased from the parked submissions. Boxed, as a hold is: few come from there.
        indirect case parked(LeasedSubmission)
        /// Leased from the holds.
        indirect case held(LeasedHold)
    }

    var parked: LeasedSubmission? {
        if case .parked(let leased) = origin { leased } else { nil }
    }

    var isParked: Bool {
        if case .parked = origin { true } else { false }
    }

    var isHeld: Bool {
        if case .held = origin { true } else { false }
    }

    /// What was leased moves no offset and waits for no turn.
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

    /// Whether this very record may have been answered before.
    var mayBeRedelivered: Bool {
        switch origin {
        case .record(let admitted): admitted.mayBeRedelivered
        case .parked: true
        case .held: false
        }
    }

    /// The database was put back to an earlier state, and may have lost a decision on it that was told.
    var isDecidedAgain: Bool {
        switch origin {
        case .record(let admitted): admitted.isDecidedAgain
        case .parked(let leased): leased.isDecidedAgain
        case .held: false
        }
    }

    /// W3C trace context of the record, nil where it had none.
    var traceparent: String? {
        switch origin {
        case .record(let admitted): admitted.record.traceparent
        case .parked(let leased): leased.traceparent
        case .held(let hold): hold.traceparent
        }
    }
}

/// For the consumer.
extension SubmissionInHand {
    var topicPartition: TopicPartition { TopicPartition(topic: position.topic, partition: position.partition) }

    /// No assignment is 0.
    var assignment: UInt64 {
        if case .record(let admitted) = origin { admitted.assignment } else { 0 }
    }

    var epoch: Int {
        if case .record(let admitted) = origin { admitted.epoch } else { 0 }
    }
}
