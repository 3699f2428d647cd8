/// The position up to which a partition is read. It may lie behind the last record, because a log can end in a
/// transaction's marker, which is no record. librdkafka shows that only by reporting the log's end.
///
/// No offset is committed from this position, because only decided records are committed.
struct ReadPosition: Sendable {
    /// The offset that is read next; nil if neither a record nor the log's end came yet.
    private(set) var next: Int64?
    /// The offset behind the last record that came; nil if none came.
    private var behindRecords: Int64?

    /// Notes a record, or a record that stands for a batch.
    mutating func came(to next: Int64) {
        self.next = next
        behindRecords = next
    }

    /// Notes that the log ends at `offset` for now.
    mutating func ended(at offset: Int64) { next = offset }

    /// Returns the offset up to which the log needs no more work: `next` if all records that came are decided, else
    /// `position`.
    /// - Parameter position: the offset before which all records are decided; nil if unknown.
    func reached(decided position: Int64?) -> Int64? {
        guard behindRecords == nil || behindRecords == position else { return position }
        return next ?? position
    }
}
