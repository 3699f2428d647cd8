/// Knows since when each request is under way: which of them take longer than Apple's answers do.
///
/// Otherwise a part of Apple that never answers would hold every place until the time-outs, and so delay the players
/// whom Apple answers at once.
public struct RequestsUnderWay: Sendable {
    /// A request that has been under way for longer does not count against the limit. Seconds.
    static let slowSeconds = 1.0

    private struct Entry {
        let number: UInt64
        let since: Double
    }

    /// The entries in the order in which they began.
    private var entries: [Entry] = []

    public init() {}

    public var count: Int { entries.count }

    public mutating func began(_ number: UInt64, now: Double) { entries.append(Entry(number: number, since: now)) }

    public mutating func ended(_ number: UInt64) {
        if let index = entries.firstIndex(where: { $0.number == number }) { entries.remove(at: index) }
    }

    /// Returns the number of slow ones.
    public func slow(now: Double) -> Int {
        entries.firstIndex { $0.since > now - Self.slowSeconds } ?? entries.count
    }

    /// Returns the time at which the next one will be slow, nil if none will.
    public func nextSlow(now: Double) -> Double? {
        entries.first { $0.since > now - Self.slowSeconds }.map { $0.since + Self.slowSeconds }
    }
}
