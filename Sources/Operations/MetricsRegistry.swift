import Synchronization

/// All metrics of the process, rendered for Prometheus in the order of their declaration.
///
/// Each family is declared once, at the start. A second declaration of a name ends the process.
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

    /// Declares a counter that the kernel or a library counts. A function passed to `onScrape` copies the value.
    func copiedCounter(_ name: String, help: String, labels: [String] = []) -> GaugeFamily {
        register(MetricFamily(name: name, help: help, labelNames: labels, kind: .counter) { Gauge() })
    }

    /// - Parameter buckets: the upper bounds: inclusive, ascending and finite. This function adds the last bucket,
    ///   which has no bound.
    public func histogram(
        _ name: String, help: String, labels: [String] = [], buckets: [Double]
    ) -> HistogramFamily {
        register(
            MetricFamily(name: name, help: help, labelNames: labels, kind: .histogram) {
                Histogram(upperBounds: buckets)
            })
    }

    /// Adds a function that updates gauges before each scrape. The function runs on the thread of the scrape, maybe on
    /// several threads at once. It must not block.
    public func onScrape(_ refresh: @escaping @Sendable () -> Void) {
        state.withLock { $0.refreshes.append(refresh) }
    }

    /// Updates the gauges, for a reader that does not call `render`.
    public func refresh() {
        // This runs outside the lock, because a refresh function may use the registry.
        for refresh in state.withLock({ $0.refreshes }) { refresh() }
    }

    /// Returns the body of a scrape.
    public func render() -> String {
        refresh()
        var text = PrometheusText()
        for family in state.withLock({ $0.families }) { family.render(to: &text) }
        return text.string
    }

    private func register<Child>(_ family: MetricFamily<Child>) -> MetricFamily<Child> {
        // A family without labels has its child from the start, because an alert about an absent series never fires.
        if family.labelNames.isEmpty { _ = family.with() }
        state.withLock { state in
            precondition(state.names.insert(family.name).inserted, "declared twice: \(family.name)")
            state.families.append(family)
        }
        return family
    }
}
