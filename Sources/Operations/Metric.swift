/// One member of a family for a set of label values: a counter, a gauge or a histogram.
public protocol Metric: AnyObject, Sendable {
    /// A consistent reading, in the order in which Prometheus wants the lines.
    func samples() -> [MetricSample]
}

/// One line of a scrape, without its family's name and labels.
public struct MetricSample: Sendable, Equatable {
    /// The text behind the family's name: empty, `_bucket`, `_sum` or `_count`.
    public let suffix: String
    /// A bucket's inclusive upper bound; `nil` for what is no bucket.
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
