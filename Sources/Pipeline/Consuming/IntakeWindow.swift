/// Limits the records in memory. When the window is full, the loop stops polling, and later pauses partitions. The loop
/// resumes them when half of the places are free, not counting the places of retrying records.
struct IntakeWindow: Sendable {
    /// The most bytes of records in memory, in the whole process.
    static let maximumBytes = 64 * 1024 * 1024

    let maximumRecords: Int
    private(set) var records = 0
    private(set) var bytes = 0

    init(maximumRecords: Int) {
        self.maximumRecords = maximumRecords
    }

    var isFull: Bool { records >= maximumRecords || bytes >= Self.maximumBytes }

    /// Returns whether half of the places that are not in `held` are free.
    func mayResume(beside held: WorkSlots.Places) -> Bool {
        records - held.records <= (maximumRecords - held.records) / 2
            && bytes - held.bytes <= (Self.maximumBytes - held.bytes) / 2
    }

    mutating func admit(bytes count: Int) {
        records += 1
        bytes += count
    }

    mutating func release(bytes count: Int) {
        records -= 1
        bytes -= count
    }
}
