/// One member of a family for a set of label values: a counter, a gauge or a histogram.
public protocol Metric: AnyObject, Sendable {
    /// Returns a consistent reading, in the order in which Prometheus wants the lines.
    func samples() -> [MetricSample]
}

/// One line of a scrape, without its family's name and labels.
public struct MetricSample: Sendable, Equatable {
    /// The text behind the family's name: empty, `_bucket`, `_sum` or `_count`.
    public let suffix: String
    /// The bucket's inclusive upper bound; nil if the line is no bucket's.
    public let upperBound: Double?
    public let value: Double

    public init(suffix: String = "", upperBound: Double? = nil, value: Double) {
        self.suffix = suffix
        self.upperBound = upperBound
        self.value = value
    }
}

/// The word after `# TYPE`.
enum MetricKind: String, Sendable {
    case counter, gauge, histogram
}
