/// A worker's count since its last report.
public struct TrafficCount: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        /// Submissions, by the name of their class.
        case ofClass = "class"
        /// Events, by `type` or `type reason`.
        case outcome
        /// Dead letters by reason.
        case deadLetter = "dead_letter"
        /// Apple's answers, by `endpoint environment result`.
        case apple
        /// Apple's answers, by the upper bound of their time in seconds, or `unbounded`.
        case appleSeconds = "apple_seconds"
    }

    /// The name of what is above all bounds.
    public static let unbounded = "+Inf"

    public let kind: Kind
    public let name: String
    public var count: Int

    public init(_ kind: Kind, _ name: String, _ count: Int) {
        self.kind = kind
        self.name = name
        self.count = count
    }
}

/// The part of the past that a chart shows.
public enum TrafficSpan: String, Sendable, CaseIterable {
    case hour
    case day
    case month

    /// The length of one bar.
    public var binSeconds: Int64 {
        switch self {
        case .hour: 60
        case .day: 1_800
        case .month: 6 * 3_600
        }
    }

    public var bins: Int {
        switch self {
        case .hour: 60
        case .day: 48
        case .month: 120
        }
    }

    /// Whether it is read from the counts of minutes.
    var isOfMinutes: Bool { self != .month }
}

/// The fleet's traffic of one span, by bins of one length, the oldest first.
public struct Traffic: Sendable, Equatable {
    /// One kind and name.
    public struct Row: Sendable, Equatable {
        public let kind: TrafficCount.Kind
        public let name: String
        public var bins: [Int]

        public var total: Int { bins.reduce(0, +) }
    }

    public let span: TrafficSpan
    /// The rows by name.
    public let rows: [Row]

    public init(span: TrafficSpan, rows: [Row]) {
        self.span = span
        self.rows = rows
    }

    public func rows(_ kind: TrafficCount.Kind) -> [Row] { rows.filter { $0.kind == kind } }
}
