/// The counter, gauge or histogram for one set of label values of a family.
public protocol Metric: AnyObject, Sendable {
    /// Returns the values of one moment, in the order that Prometheus requires.
    func samples() -> [MetricSample]
}

/// One line of a scrape, without the family's name and labels.
public struct MetricSample: Sendable, Equatable {
    /// The text after the family's name: empty, `_bucket`, `_sum` or `_count`.
    public let suffix: String
    /// The inclusive upper bound of the bucket; nil if the line is not about a bucket.
    public let upperBound: Double?
    public let value: Double

    public init(suffix: String = "", upperBound: Double? = nil, value: Double) {
        self.suffix = suffix
        self.upperBound = upperBound
        self.value = value
    }
}

/// The kind of a family, as in its `# TYPE` line.
enum MetricKind: String, Sendable {
    case counter, gauge, histogram
}
