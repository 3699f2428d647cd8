import Synchronization

/// All metrics of the process, rendered for Prometheus in the order in which they were declared.
///
/// Families are declared once, at start; a name declared twice is a bug.
public final class MetricsRegistry: Sendable {
    private struct State {
        var families: [any AnyMetricFamily] = []
        var names: Set<String> = []
        var refreshes: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    public init() {}

    public func counter(_ name: String, help: String, labels: [String] = []) -> CounterFamily {
        register(MetricFamily(name: name, help: help, labelNames: labels, kind: .counter) { Counter() })
    }

    public func gauge(_ name: String, help: String, labels: [String] = []) -> GaugeFamily {
        register(MetricFamily(name: name, help: help, labelNames: labels, kind: .gauge) { Gauge() })
    }

    /// Declares a counter whose value the kernel or a library counts. The caller copies the value in `onScrape`.
    func copiedCounter(_ name: String, help: String, labels: [String] = []) -> GaugeFamily {
        register(MetricFamily(name: name, help: help, labelNames: labels, kind: .counter) { Gauge() })
    }

    /// Declares a histogram.
    /// - Parameter buckets: inclusive upper bounds, ascending and finite; the bucket above all comes by itself.
    public func histogram(
        _ name: String, help: String, labels: [String] = [], buckets: [Double]
    ) -> HistogramFamily {
        register(
            MetricFamily(name: name, help: help, labelNames: labels, kind: .histogram) {
                Histogram(upperBounds: buckets)
            })
    }

    /// Adds a function that brings gauges up to date before each scrape. It runs on the scrape's thread, maybe on
    /// several at once, and must not block.
    public func onScrape(_ refresh: @escaping @Sendable () -> Void) {
        state.withLock { $0.refreshes.append(refresh) }
    }

    /// Brings gauges up to date, for a reader other than `render`.
    public func refresh() {
        // Outside the lock: a refresh may use the registry.
        for refresh in state.withLock({ $0.refreshes }) { refresh() }
    }

    /// Returns a scrape's body.
    public func render() -> String {
        refresh()
        var text = PrometheusText()
        for family in state.withLock({ $0.families }) { family.render(to: &text) }
        return text.string
    }

    private func register<Child>(_ family: MetricFamily<Child>) -> MetricFamily<Child> {
        // A family without labels has its one child from the start, because an alert on an absent series never fires.
        if family.labelNames.isEmpty { _ = family.with() }
        state.withLock { state in
            precondition(state.names.insert(family.name).inserted, "declared twice: \(family.name)")
            state.families.append(family)
        }
        return family
    }
}
