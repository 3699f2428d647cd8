/// The records in memory, with the most that may be there at once. When the window is full, the loop stops polling,
/// then pauses. It resumes once half of the places that no retrying record holds are free.
struct IntakeWindow: Sendable {
    /// The most bytes of records in memory, for the whole process.
    static let maximumBytes = 64 * 1024 * 1024

    let maximumRecords: Int
    private(set) var records = 0
    private(set) var bytes = 0

    init(maximumRecords: Int) {
        self.maximumRecords = maximumRecords
    }

    var isFull: Bool { records >= maximumRecords || bytes >= Self.maximumBytes }

    /// Returns whether half of the places are free, without the held places.
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
