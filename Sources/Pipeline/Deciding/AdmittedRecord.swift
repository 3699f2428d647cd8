import Fulfillment
import Kafka

/// The facts that the consumer knows about a record that it admitted. A class, because each step of the submission
/// reads it.
final class AdmittedRecord: Sendable {
    /// Without its value if the decoder made a submission of the value, because the submission holds the same data.
    let record: ConsumerRecord
    let decoded: SubmissionDecoder.Decoded
    /// The bytes that the record with its value takes in memory, roughly. The partition's window is charged with them.
    let byteCount: Int
    /// The player's ticket; nil if the player has as many submissions in memory as one player may have.
    let ticket: PlayerLanes.Ticket?
    /// The number of the partition's assignment. A record of an older assignment no longer moves offsets.
    let assignment: UInt64
    /// The number of offset resets under this assignment before the record was admitted.
    let epoch: Int
    /// True if the record's submission may have been decided before. False if the record's offset is above every
    /// decided offset of its partition.
    let mayBeRedelivered: Bool
    /// True if the database was restored to an earlier state and may have lost a published decision on the record.
    let isDecidedAgain: Bool
    /// The number of the ledger's fall backs when the partition was assigned.
    let fallBackCount: Int
    /// True if the record is isolated: nothing else is in flight, and a death of the process counts against the record.
    let isIsolated: Bool
    /// True if the record killed three workers in isolation. The worker reads the record and parks its submission
    /// without a try.
    let isSetAside: Bool

    /// - Parameter decoded: a submission or a dead letter. For a dead letter `record` keeps the value, because the copy
    ///   on the dead-letter topic needs it.
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
