/// The differences between this process's clock and three others: PostgreSQL's, the newest records' and Apple's. A
/// difference is in seconds: above 0 if this process's clock is ahead, below 0 if this process's clock is behind, nil
/// if unknown.
public struct ClockDifferences: Sendable, Equatable {
    /// The largest difference that is no failure, in seconds.
    static let toleranceSeconds = 60.0
    /// If the caller notes no new difference from the records or from Apple for this many seconds, the old difference
    /// becomes unknown. The difference from PostgreSQL stays.
    public static let recordSeconds = 600.0

    public private(set) var database: Double?
    public private(set) var record: Double?
    public private(set) var apple: Double?
    private var recordAt = 0.0
    private var appleAt = 0.0

    public init() {}

    /// - Parameters:
    ///   - database: the difference from PostgreSQL's clock. Nil if PostgreSQL did not answer; the earlier value then
    ///     stays.
    ///   - record: the difference from the records' timestamps; nil if no record showed one.
    ///   - apple: the difference from the time of Apple's signatures; nil if no signature had a time in the future.
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

    /// A clause for each difference above the tolerance, for people; nil if there is none.
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
