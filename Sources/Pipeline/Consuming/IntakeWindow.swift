/// How much may be in memory at once. Full: the loop stops polling, then pauses; at half it resumes.
struct IntakeWindow: Sendable {
    /// Bytes of records in flight, for the whole process.
    static let maximumBytes = 64 * 1024 * 1024

    let maximumRecords: Int
    private(set) var records = 0
    private(set) var bytes = 0

    init(maximumRecords: Int) {
        self.maximumRecords = maximumRecords
    }

    var isFull: Bool { records >= maximumRecords || bytes >= Self.maximumBytes }
    var mayResume: Bool { records <= maximumRecords / 2 && bytes <= Self.maximumBytes / 2 }

    mutating func admit(bytes count: Int) {
        records += 1
        bytes += count
    }

    mutating func release(bytes count: Int) {
        records -= 1
        bytes -= count
    }
}
