/// By how many seconds this process's clock is ahead of PostgreSQL's clock, of the newest records' timestamps and of
/// Apple's; below 0 if it is behind, nil if unknown.
public struct ClockDifferences: Sendable, Equatable {
    /// The largest difference at which two clocks still agree, in seconds.
    static let toleranceSeconds = 60.0
    /// The seconds for which a difference counts while no newer record or signature shows one.
    public static let recordSeconds = 600.0

    public private(set) var database: Double?
    public private(set) var record: Double?
    public private(set) var apple: Double?
    private var recordAt = 0.0
    private var appleAt = 0.0

    public init() {}

    /// - Parameters:
    ///   - database: nil if PostgreSQL did not answer; the known value stays.
    ///   - record: nil if no record showed a difference.
    ///   - apple: nil if Apple signed nothing later than now.
    ///   - now: monotonic seconds.
    public mutating func note(database: Double?, record: Double?, apple: Double? = nil, now: Double) {
        self.database = database ?? self.database
        Self.note(record, in: &self.record, at: &recordAt, now: now)
        Self.note(apple, in: &self.apple, at: &appleAt, now: now)
    }

    private static func note(_ told: Double?, in known: inout Double?, at time: inout Double, now: Double) {
        if told != nil {
            (known, time) = (told, now)
        } else if now - time > recordSeconds {
            known = nil
        }
    }

    /// The clocks that disagree and their differences, for people; nil if all clocks agree.
    public var complaint: String? {
        let clauses = [
            (database, "PostgreSQL's clock"), (record, "the newest records' timestamps"),
            (apple, "the time at which Apple signed a proof"),
        ].compactMap { seconds, other -> String? in
            guard let seconds, abs(seconds) > Self.toleranceSeconds else { return nil }
            let amount = Int(abs(seconds).rounded())
            return "the worker's clock is \(amount) s \(seconds > 0 ? "ahead of" : "behind") \(other)"
        }
        return clauses.isEmpty ? nil : clauses.joined(separator: "; ")
    }
}
