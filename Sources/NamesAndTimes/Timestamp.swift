/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Sendable, Hashable, Comparable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns the time `delta` milliseconds later. The sum saturates instead of trapping, because the operands may
    /// come from outside.
    public func adding(milliseconds delta: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return Timestamp(milliseconds: overflow ? (delta < 0 ? .min : .max) : sum)
    }

    static let millisecondsPerDay: Int64 = 86_400_000

    /// The number of days from 1970-01-01 to the UTC day. A time outside the years 0001 to 9999 gives the nearest day
    /// inside.
    public var daysSinceEpoch: Int32 {
        let day = milliseconds.flooredQuotient(by: Self.millisecondsPerDay)
        return Int32(min(max(day, CivilDate.firstDay), CivilDate.lastDay))
    }
}
