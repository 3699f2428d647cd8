import Testing

@testable import Operations

/// The promises that every `Metric` keeps to a scrape.
@Suite("Every metric: counter, gauge and histogram")
struct MetricConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case counter
        case gauge
        case histogram
    }

    struct Subject: Sendable {
        let metric: any Metric
        /// Adds one count to the metric.
        let count: @Sendable () -> Void
        /// Returns the expected samples of a scrape after this number of complete counts.
        let reading: @Sendable (Double) -> [MetricSample]
    }

    private func subject(_ implementation: Implementation) -> Subject {
        switch implementation {
        case .counter:
            let counter = Counter()
            return Subject(metric: counter, count: { counter.increment() }, reading: { [MetricSample(value: $0)] })
        case .gauge:
            let gauge = Gauge()
            return Subject(metric: gauge, count: { gauge.add(1) }, reading: { [MetricSample(value: $0)] })
        case .histogram:
            let histogram = Histogram(upperBounds: [0.25, 1])
            return Subject(
                metric: histogram, count: { histogram.observe(0.5) },
                reading: { count in
                    [
                        MetricSample(suffix: "_bucket", upperBound: 0.25, value: 0),
                        MetricSample(suffix: "_bucket", upperBound: 1, value: count),
                        MetricSample(suffix: "_bucket", upperBound: .infinity, value: count),
                        MetricSample(suffix: "_sum", value: count / 2), MetricSample(suffix: "_count", value: count),
                    ]
                })
        }
    }

    @Test(
        "a new metric has all its samples at zero, in the same order as after a count",
        arguments: Implementation.allCases)
    func fresh(implementation: Implementation) {
        let subject = subject(implementation)
        #expect(subject.metric.samples() == subject.reading(0))
        subject.count()
        #expect(subject.metric.samples() == subject.reading(1))
    }

    @Test("a scrape does not change a metric", arguments: Implementation.allCases)
    func readTwice(implementation: Implementation) {
        let subject = subject(implementation)
        subject.count()
        #expect(subject.metric.samples() == subject.metric.samples())
    }

    @Test(
        "a metric that is scraped while it counts gives consistent samples, and loses no count",
        arguments: Implementation.allCases)
    func consistent(implementation: Implementation) async {
        let subject = subject(implementation)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1_000 { subject.count() }
                }
            }
            group.addTask {
                for _ in 0..<1_000 {
                    let samples = subject.metric.samples()
                    let count = samples.last?.value ?? -1
                    #expect(samples == subject.reading(count))
                }
            }
        }
        #expect(subject.metric.samples() == subject.reading(4_000))
    }
}
