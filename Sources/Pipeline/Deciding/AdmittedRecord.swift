import Fulfillment
import Kafka

/// An admitted record, with the consumer's facts about it. A class, because each step of the submission reads it.
final class AdmittedRecord: Sendable {
    /// The record. It has no value if the decoder made a submission of the value, because the submission has the same
    /// data.
    let record: ConsumerRecord
    let decoded: SubmissionDecoder.Decoded
    /// The approximate size of the record with its value in memory, in bytes. The window counts it.
    let byteCount: Int
    /// The player's ticket; nil if the player already has as many submissions in memory as allowed.
    let ticket: PlayerLanes.Ticket?
    /// The number of the partition's assignment. A record of an older assignment does not move offsets.
    let assignment: UInt64
    /// The partition's `PartitionProgress.epoch` when the record was admitted.
    let epoch: Int
    /// True if a worker may have decided the submission before. False if the record's offset is above every decided
    /// offset of its partition.
    let mayBeRedelivered: Bool
    /// True if the database was restored to an earlier state, and may have lost a published decision on the record.
    let isDecidedAgain: Bool
    /// The ledger's `fallBackCount` when the partition was assigned.
    let fallBackCount: Int
    /// True if the record is isolated: nothing else is in flight, and a death of the process counts against the record.
    let isIsolated: Bool
    /// True if the record killed three workers in isolation. The worker then parks its submission without a try.
    let isSetAside: Bool

    /// - Parameter decoded: a submission or a dead letter. For a dead letter, `record` keeps its value, because the
    ///   dead letter's record needs it.
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
