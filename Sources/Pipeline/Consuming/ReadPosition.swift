/// The place up to which a partition is read, which may be behind its last record. A log can end in something that is
/// no record, as the marker that ends a transaction. Only librdkafka's word that the end is reached tells how far that
/// goes.
///
/// Nothing is committed by it, because only decided records are.
struct ReadPosition: Sendable {
    /// The offset that is read next; nil if nothing came yet.
    private(set) var next: Int64?
    /// The place behind the last record that came; nil if none did.
    private var behindRecords: Int64?

    /// Notes a record, or one that represents several.
    mutating func came(to next: Int64) {
        self.next = next
        behindRecords = next
    }

    /// Notes that the log ends there for now.
    mutating func ended(at offset: Int64) { next = offset }

    /// Returns the place up to which the log is done with. If all records that came are decided, that is the place up
    /// to which it is read.
    /// - Parameter position: the offset before which all records are decided; nil if unknown.
    func reached(decided position: Int64?) -> Int64? {
        guard behindRecords == nil || behindRecords == position else { return position }
        return next ?? position
    }
}
