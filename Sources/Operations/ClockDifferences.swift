/// How far this process's clock is from others', in seconds that it is ahead.
public struct ClockDifferences: Sendable, Equatable {
    /// Beyond it clocks disagree.
    public static let toleranceSeconds = 60.0
    /// For which what a record told is believed while no other tells anything.
    public static let recordSeconds = 600.0

    public private(set) var database: Double?
    public private(set) var record: Double?
    private var recordAt = 0.0

    public init() {}

    /// - Parameters:
    ///   - database: nil where PostgreSQL did not answer: then what was known stays.
    ///   - record: nil where no record told.
    ///   - now: monotonic seconds.
    public mutating func note(database: Double?, record: Double?, now: Double) {
        self.database = database ?? self.database
        if let record {
            self.record = record
            recordAt = now
        } else if now - recordAt > Self.recordSeconds {
            self.record = nil
        }
    }

    /// Names the clocks that disagree, and by how much; nil where none does.
    public var complaint: String? {
        let clauses = [(database, "PostgreSQL's clock"), (record, "the newest records' timestamps")].compactMap {
            seconds, other -> String? in
            guard let seconds, abs(seconds) > Self.toleranceSeconds else { return nil }
            let amount = Int(abs(seconds).rounded())
            return "the worker's clock is \(amount) s \(seconds > 0 ? "ahead of" : "behind") \(other)"
        }
        return clauses.isEmpty ? nil : clauses.joined(separator: "; ")
    }
}
