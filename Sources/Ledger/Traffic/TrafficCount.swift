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
        /// Apple's answers, by the upper limit of their time in seconds, or `unbounded`.
        case appleSeconds = "apple_seconds"
    }

    /// The name of the bucket above all limits.
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
