/// Reduces frequent events to one log line a minute for each kind.
struct MinuteNotes: Sendable {
    /// A line to log, with the number of events since the last line of its kind.
    struct Line: Equatable, Sendable {
        let kind: String
        let count: Int
    }

    private struct Kind: Sendable {
        var lastLine: Double
        var count: Int
    }

    static let secondsBetweenLines = 60.0
    /// The most kinds. Events of further kinds get no line. receiptd itself chooses the kinds, and has fewer than this.
    static let maximumKinds = 200

    private var kinds: [String: Kind] = [:]

    /// Counts an event. Returns the line to log; nil if there was a line of its kind within the last minute.
    /// - Parameter now: monotonic seconds.
    mutating func note(_ kind: String, now: Double) -> Line? {
        guard var known = kinds[kind] else {
            guard kinds.count < Self.maximumKinds else { return nil }
            kinds[kind] = Kind(lastLine: now, count: 0)
            return Line(kind: kind, count: 1)
        }
        defer { kinds[kind] = known }
        known.count += 1
        guard now - known.lastLine >= Self.secondsBetweenLines else { return nil }
        let line = Line(kind: kind, count: known.count)
        known = Kind(lastLine: now, count: 0)
        return line
    }
}
