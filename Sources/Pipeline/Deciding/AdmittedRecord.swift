import Fulfillment
import Kafka

/// The consumer's facts about a record that it admitted. A class, because each step of its submission reads it.
final class AdmittedRecord: Sendable {
    /// The record, without its value if that was decoded, because the submission holds all of it.
    let record: ConsumerRecord
    let decoded: SubmissionDecoder.Decoded
    /// The bytes that the record took in memory as it came, about. Its partition's window was charged with them.
    let byteCount: Int
    /// The player's ticket; nil if the player has all the places that one may have.
    let ticket: PlayerLanes.Ticket?
    /// The number of the assignment. A record admitted under an older one no longer moves offsets.
    let assignment: UInt64
    /// The number of times that offsets had fallen back under this assignment.
    let epoch: Int
    /// False if the record's offset is above all that were ever decided in its partition.
    let mayBeRedelivered: Bool
    /// True if the database was restored to an earlier state and may have lost a published decision on it.
    let isDecidedAgain: Bool
    /// The number of the ledger's fall backs when the partition was assigned.
    let fallBackCount: Int
    /// True if nothing else is in flight, and a death of the process counts against it.
    let isIsolated: Bool
    /// True if three workers died of it in isolation. It is read, and parked untried.
    let isSetAside: Bool

    /// - Parameter decoded: the content of the record's value. A dead letter keeps the value.
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
