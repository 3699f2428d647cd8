import Foundation
import Testing

@testable import Operations

@Suite("Prometheus metrics and their scrape")
struct MetricsTests {
    @Test("A scrape lists metric families in the order declared, and the children of a family sorted by labels")
    func rendering() {
        let registry = MetricsRegistry()
        let requests = registry.counter("app_requests_total", help: "Requests.", labels: ["path", "result"])
        let depth = registry.gauge("app_depth", help: "Depth.").with()
        requests.with("/b", "ok").increment()
        requests.with("/a", "ok").increment(by: 41)
        requests.with("/a", "ok").increment()
        depth.set(2.5)
        depth.add(-3)
        #expect(
            registry.render() == """
                # HELP app_requests_total Requests.
                # TYPE app_requests_total counter
                app_requests_total{path="/a",result="ok"} 42
                app_requests_total{path="/b",result="ok"} 1
                # HELP app_depth Depth.
                # TYPE app_depth gauge
                app_depth -0.5

                """)
    }

    @Test("A histogram's buckets are cumulative and inclusive, and end at +Inf")
    func histogram() {
        let registry = MetricsRegistry()
        let histogram = registry.histogram("app_wait_seconds", help: "Wait.", buckets: [0.1, 1]).with()
        for value in [0.1, 0.5, 1, 7] { histogram.observe(value) }
        histogram.observe(.milliseconds(400))
        #expect(
            registry.render() == """
                # HELP app_wait_seconds Wait.
                # TYPE app_wait_seconds histogram
                app_wait_seconds_bucket{le="0.1"} 1
                app_wait_seconds_bucket{le="1"} 4
                app_wait_seconds_bucket{le="+Inf"} 5
                app_wait_seconds_sum 9
                app_wait_seconds_count 5

                """)
    }

    @Test("A histogram counts a negative value as 0, and ignores a value that is not finite")
    func oddObservations() {
        let histogram = Histogram(upperBounds: [1])
        for value in [-5, .nan, .infinity, -.infinity] as [Double] { histogram.observe(value) }
        #expect(histogram.reading.counts == [1, 0])
        #expect(histogram.reading.sum == 0)
    }

    @Test("A scrape escapes label values and help texts")
    func escaping() {
        let registry = MetricsRegistry()
        registry.gauge("app_x", help: "a\\b\nc\"", labels: ["l"]).with("q\"b\\n\nz").set(1)
        #expect(
            registry.render() == """
                # HELP app_x a\\\\b\\nc"
                # TYPE app_x gauge
                app_x{l="q\\"b\\\\n\\nz"} 1

                """)
    }

    @Test(
        "A scrape writes numbers in Prometheus's text format",
        arguments: [
            (0, "0"), (-3, "-3"), (0.005, "0.005"), (1e15, "1000000000000000"), (1e300, "1e+300"),
            (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
        ] as [(Double, String)])
    func numbers(value: Double, text: String) {
        #expect(PrometheusText.number(value) == text)
    }

    @Test("Once a metric has its maximum number of children, all further label values share one child")
    func cardinality() {
        let family = MetricsRegistry().counter("app_x_total", help: "X.", labels: ["a", "b"])
        for index in 0..<(CounterFamily.maximumChildren + 50) { family.with("\(index)", "b").increment() }
        #expect(family.all().count == CounterFamily.maximumChildren + 1)
        #expect(family.with("other", "other").value == 50)
        #expect(family.with("0", "b").value == 1)
    }

    @Test("A removed child of a metric is absent from the scrape, and a new child with the same labels starts at 0")
    func removal() {
        let lag = MetricsRegistry().gauge("app_lag", help: "Lag.", labels: ["topic", "partition"])
        lag.with("t", "0").set(5)
        lag.with("t", "1").set(6)
        lag.remove("t", "0")
        #expect(lag.all().map(\.labelValues) == [["t", "1"]])
        #expect(lag.with("t", "0").value == 0)
    }

    @Test("If eight tasks count concurrently, the metrics lose no increment, addition or observation")
    func concurrency() async {
        let registry = MetricsRegistry()
        let counters = registry.counter("app_x_total", help: "X.", labels: ["l"])
        let gauge = registry.gauge("app_x", help: "X.").with()
        let histogram = registry.histogram("app_x_seconds", help: "X.", buckets: [1]).with()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        counters.with("v").increment()
                        gauge.add(1)
                        histogram.observe(0.5)
                    }
                }
            }
        }
        #expect(counters.with("v").value == 8_000)
        #expect(gauge.value == 8_000)
        #expect(histogram.reading.count == 8_000)
    }

    @Test("Each scrape calls the refresh closures first, and a refresh closure may use the registry")
    func refresh() {
        let registry = MetricsRegistry()
        let calls = registry.counter("app_scrapes_total", help: "Scrapes.").with()
        registry.onScrape {
            calls.increment()
            registry.onScrape {}
        }
        _ = registry.render()
        #expect(registry.render().contains("app_scrapes_total 2\n"))
    }
}
