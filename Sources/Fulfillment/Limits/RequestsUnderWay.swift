/// Remembers when each request under way began, and counts the requests that take far longer than usual.
///
/// Slow requests do not count against the limit. Otherwise requests that Apple never answers would take every place
/// until their time-outs, and requests that Apple answers at once would wait.
public struct RequestsUnderWay: Sendable {
    /// The seconds after which a request is slow.
    static let slowSeconds = 1.0

    private struct Entry {
        let number: UInt64
        let since: Double
    }

    /// The requests under way, oldest first.
    private var entries: [Entry] = []

    public init() {}

    public var count: Int { entries.count }

    public mutating func began(_ number: UInt64, now: Double) { entries.append(Entry(number: number, since: now)) }

    public mutating func ended(_ number: UInt64) {
        if let index = entries.firstIndex(where: { $0.number == number }) { entries.remove(at: index) }
    }

    /// Returns the number of slow requests.
    public func slow(now: Double) -> Int {
        entries.firstIndex { $0.since > now - Self.slowSeconds } ?? entries.count
    }

    /// Returns the time at which the next request will be slow; nil if none will.
    public func nextSlow(now: Double) -> Double? {
        entries.first { $0.since > now - Self.slowSeconds }.map { $0.since + Self.slowSeconds }
    }
}
