/// The place up to which a partition is read. That may be behind its last record: a log can end in something that is no
/// record, as the marker that ends a transaction, and only librdkafka's word that the end is reached tells how far that
/// goes.
///
/// Nothing is committed by it: only what was decided is.
struct ReadPosition: Sendable {
    /// The offset that is read next; nil where nothing came yet.
    private(set) var next: Int64?
    /// The place behind the last record that came; nil if none did.
    private var behindRecords: Int64?

    /// A record came, or one that represents several.
    mutating func came(to next: Int64) {
        self.next = next
        behindRecords = next
    }

    /// The log ends there, for now.
    mutating func ended(at offset: Int64) { next = offset }

    /// Returns the place up to which the log is done with: if all records that came are decided, up to where it is
    /// read.
    /// - Parameter position: before it all records are decided; nil where that is not known.
    func reached(decided position: Int64?) -> Int64? {
        guard behindRecords == nil || behindRecords == position else { return position }
        return next ?? position
    }
}
