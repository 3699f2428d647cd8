/// The offset up to which a partition is read. A log can end in a Kafka transaction's marker, for which librdkafka
/// delivers no record. It only reports the log's end. So this offset may be higher than the offset after the last
/// record.
///
/// The worker never commits an offset after such a marker.
struct ReadPosition: Sendable {
    /// The offset of the next record to read; nil until the first record or the log's end comes.
    private(set) var next: Int64?
    /// The offset after the last record that came; nil before the first record.
    private var behindRecords: Int64?

    /// Notes that a record or an unreadable batch came. `next` is the offset after it.
    mutating func came(to next: Int64) {
        self.next = next
        behindRecords = next
    }

    /// Notes that the log now ends at `offset`.
    mutating func ended(at offset: Int64) { next = offset }

    /// Returns the offset before which the log needs no more work: `next` if all records that came are decided,
    /// otherwise `position`.
    /// - Parameter position: the offset before which all records are decided; nil if unknown.
    func reached(decided position: Int64?) -> Int64? {
        guard behindRecords == nil || behindRecords == position else { return position }
        return next ?? position
    }
}
