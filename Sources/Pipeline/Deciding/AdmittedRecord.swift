import Fulfillment
import Kafka

/// The consumer's facts about a record that it admitted. A class: each step of its submission looks something up here.
final class AdmittedRecord: Sendable {
    /// The record without its value if that was decoded: a submission holds all of it.
    let record: ConsumerRecord
    let decoded: SubmissionDecoder.Decoded
    /// Bytes that the record took in memory as it came, about: what its partition's window was charged.
    let byteCount: Int
    /// Nil: its player has all the places that one may have.
    let ticket: PlayerLanes.Ticket?
    /// Counts assignments: what was admitted under an older one no longer moves offsets.
    let assignment: UInt64
    /// Counts how often offsets had fallen back under this assignment.
    let epoch: Int
    /// False where the record's offset lies above all that were ever decided in its partition.
    let mayBeRedelivered: Bool
    /// The database was restored to an earlier state, and may have lost a decision on it that was told.
    let isDecidedAgain: Bool
    /// The ledger's fall backs when the partition was assigned.
    let fallBackCount: Int
    /// Nothing else is in flight, and a death of the process counts against it.
    let isIsolated: Bool
    /// Three workers died of it in isolation: it is read, and parked untried.
    let isSetAside: Bool

    /// - Parameter decoded: made of the record's value. What becomes a dead letter keeps it.
    init(
        record: ConsumerRecord, decoded: SubmissionDecoder.Decoded, ticket: PlayerLanes.Ticket? = nil,
        assignment: UInt64,
        epoch: Int = 0, mayBeRedelivered: Bool, isDecidedAgain: Bool = false, fallBackCount: Int = 0,
        isIsolated: Bool = false, isSetAside: Bool = false
    ) {
        byteCount = record.byteCount
        self.record = decoded.submission != nil ? record.withoutValue : record
        self.decoded = decoded
        self.ticket = ticket
        self.assignment = assignment
        self.epoch = epoch
        self.mayBeRedelivered = mayBeRedelivered
        self.isDecidedAgain = isDecidedAgain
        self.fallBackCount = fallBackCount
        self.isIsolated = isIsolated
        self.isSetAside = isSetAside
    }
}
