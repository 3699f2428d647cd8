import Synchronization

public typealias CounterFamily = MetricFamily<Counter>
public typealias GaugeFamily = MetricFamily<Gauge>
public typealias HistogramFamily = MetricFamily<Histogram>

/// A metric with labels. It has a child for each set of label values.
///
/// `with` takes a lock and hashes strings, so code that counts often should keep the child. The number of children is
/// limited, so that a label with values from outside cannot fill the memory.
public final class MetricFamily<Child: Metric>: Sendable {
    /// The most children. Further label values share one more child, whose label values are all `other`.
    public static var maximumChildren: Int { 1_000 }

    public let name: String
    let labelNames: [String]
    let help: String
    let kind: MetricKind
    private let makeChild: @Sendable () -> Child
    private let children = Mutex<[[String]: Child]>([:])

    init(
        name: String, help: String, labelNames: [String], kind: MetricKind, makeChild: @escaping @Sendable () -> Child
    ) {
        precondition(PrometheusText.isMetricName(name), "not a metric name: \(name)")
        precondition(labelNames.allSatisfy(PrometheusText.isLabelName), "not label names: \(labelNames)")
        self.name = name
        self.help = help
        self.labelNames = labelNames
        self.kind = kind
        self.makeChild = makeChild
    }

    /// Returns the child with these label values, in the order of the labels. The first call creates the child.
    public func with(_ labelValues: String...) -> Child { child(labelValues) }

    /// Returns the child with these label values, in the order of the labels.
    public func child(_ labelValues: [String]) -> Child {
        precondition(labelValues.count == labelNames.count, "\(name) has the labels \(labelNames)")
        return children.withLock { children in
            if let child = children[labelValues] { return child }
            var key = labelValues
            if children.count >= Self.maximumChildren {
                key = labelNames.map { _ in "other" }
                if let overflow = children[key] { return overflow }
            }
            let child = makeChild()
            children[key] = child
            return child
        }
    }

    /// Removes a child that no longer concerns this process, such as a revoked partition's. Code that kept the child
    /// can still count, but no scrape shows the child.
    public func remove(_ labelValues: String...) {
        children.withLock { $0[labelValues] = nil }
    }

    public func removeAll() {
        children.withLock { $0.removeAll() }
    }

    /// Returns all children, sorted by label values.
    public func all() -> [(labelValues: [String], child: Child)] {
        children.withLock { children in children.map { (labelValues: $0.key, child: $0.value) } }
            .sorted { $0.labelValues.lexicographicallyPrecedes($1.labelValues) }
    }
}

/// A family with any type of children, for the registry.
protocol AnyMetricFamily: Sendable {
    var name: String { get }
    func render(to text: inout PrometheusText)
}

extension MetricFamily: AnyMetricFamily {
    func render(to text: inout PrometheusText) {
        text.header(name: name, help: help, kind: kind)
        for (labelValues, child) in all() {
            let labels = Array(zip(labelNames, labelValues))
            for sample in child.samples() { text.append(sample, name: name, labels: labels) }
        }
    }
}
