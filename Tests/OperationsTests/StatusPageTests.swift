import Foundation
import Fulfillment
import Testing

@testable import Operations
@testable import OperationsHTTP

@Suite("The worker's page")
struct StatusPageTests {
    private let metrics: ReceiptdMetrics
    private let health: Health

    init() {
        metrics = ReceiptdMetrics(version: "1.2.3")
        health = Health(failures: Failures(metrics: metrics))
    }

    private func sample(at seconds: Double) -> TrafficHistory.Sample {
        TrafficHistory.Sample(StatusReport(metrics: metrics, health: health), metrics: metrics, seconds: seconds)
    }

    private func page(_ history: TrafficHistory, at seconds: Double, about: StatusPage.About = []) -> String {
        let now = sample(at: seconds)
        return StatusPage(
            report: StatusReport(metrics: metrics, health: health), now: now,
            before: history.reference(for: now.seconds), bins: history.bins(upTo: now),
            appleBounds: metrics.appleRequestDuration.upperBounds, about: about
        ).html
    }

    @Test("the worker's page escapes a hostile name in every place that shows the name")
    func escaping() {
        let hostile = "<script>alert('x')</script>\"&\0"
        metrics.outcomes.with("receipt.rejected", hostile).increment()
        metrics.appleRequests.with(hostile, "Production", "genuine").increment()
        metrics.consumerLag.with(hostile, "0").set(1)
        metrics.misconfiguration.set(hostile, "wrong_secret", because: "mend it")
        health.set(.joinedGroup, unmet: hostile)
        let page = page(TrafficHistory(), at: 0, about: [("Group", hostile)])
        #expect(!page.contains("<script>alert") && !page.contains("'x'"))
        let text = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;\u{FFFD}"
        #expect(page.components(separatedBy: text).count >= 7)
    }

    @Test("the worker's page shows submissions per second since a sample at least 10 s old; without one it shows none")
    func rates() {
        let history = TrafficHistory()
        #expect(page(history, at: 0).contains("<span>Submissions per second</span><b class=\"\">–</b>"))
        history.add(sample(at: 0))
        for _ in 0..<50 { metrics.submissionDuration.observe(0.1) }
        history.add(sample(at: 5))
        #expect(page(history, at: 10).contains("<span>Submissions per second</span><b class=\"\">5</b>"))
        history.add(sample(at: 10))
        #expect(page(history, at: 20).contains("<span>Submissions per second</span><b class=\"\">0</b>"))
    }

    @Test(
        "a chart's last bin is the newest and counts the submissions of its interval, and old samples drop out")
    func bins() {
        let history = TrafficHistory()
        let foreign = metrics.submissions.with(TrafficClass.foreign.rawValue)
        let place = ShownClass.allCases.firstIndex(of: .foreign) ?? 0
        history.add(sample(at: 0))
        foreign.increment(by: 3)
        history.add(sample(at: 5))
        history.add(sample(at: 900))
        foreign.increment(by: 4)
        metrics.appleRequestDuration.observe(0.05)
        history.add(sample(at: 905))
        var bins = history.bins(upTo: sample(at: 906))
        #expect(bins.count == 60)
        #expect(bins.last?.classes[place] == 4 && bins.last?.apple.count == 1)
        #expect(bins.dropLast().allSatisfy { $0.classes[place] == 0 && $0.apple.count == 0 })
        foreign.increment(by: 1)
        history.add(sample(at: 935))
        bins = history.bins(upTo: sample(at: 936))
        #expect(bins.map { $0.classes[place] }.suffix(3) == [4, 0, 1])
    }

    @Test("the worker's page counts forged submissions and dead letters as junk, and an answered dead letter only once")
    func classes() throws {
        let history = TrafficHistory()
        history.add(sample(at: 0))
        metrics.submissions.with(TrafficClass.forged.rawValue).increment(by: 2)
        // One of the three submissions is a dead letter that got an answer.
        metrics.submissions.with(TrafficClass.junk.rawValue).increment(by: 3)
        metrics.outcomes.with("receipt.rejected", "malformed_submission").increment()
        metrics.deadLetters.with("malformed_message").increment(by: 2)
        let junk = try #require(ShownClass.allCases.firstIndex(of: .junk))
        #expect(history.bins(upTo: sample(at: 5)).last?.classes[junk] == 6)
        let page = page(history, at: 5)
        #expect(page.contains("<li class=\"c-junk\">junk</li>") && !page.contains("c-forged"))
    }

    @Test("a quantile at a bucket's end is the bucket's upper bound, and no quantile exceeds the highest bound")
    func quantiles() {
        let histogram = Histogram(upperBounds: [1, 2, 4])
        #expect(histogram.reading.quantile(0.5, upperBounds: histogram.upperBounds) == nil)
        for value in [1.5, 1.5, 3, 100] { histogram.observe(value) }
        #expect(histogram.reading.quantile(0.5, upperBounds: histogram.upperBounds) == 2)
        #expect(histogram.reading.quantile(0.75, upperBounds: histogram.upperBounds) == 4)
        #expect(histogram.reading.quantile(1, upperBounds: histogram.upperBounds) == 4)
    }

    @Test(
        "a chart's scale ends at the maximum, rounded up to 1, 2 or 5 times a power of ten",
        arguments: [(0.0, 1.0), (0.3, 0.5), (1, 1), (1.1, 2), (3, 5), (7, 10), (10, 10), (101, 200), (4_999, 5_000)])
    func scale(value: Double, top: Double) {
        #expect(abs(Chart.ceiling(value) - top) < 1e-9)
    }

    @Test(
        "the worker's page shows numbers with at most three significant digits, or with separated thousands",
        arguments: [
            (0.0, "0"), (0.01234, "0.012"), (1.5, "1.5"), (12.34, "12.3"), (123.4, "123"), (1_234_567, "1,234,567"),
            (.infinity, "–"),
        ])
    func numbers(value: Double, text: String) {
        #expect(ShownNumber.short(value) == text)
    }

    @Test("a chart draws its values, leaves gaps where a value is absent, and names its series")
    func charts() {
        let series = [
            Chart.Series(name: "a & b", style: "c-x", values: [1, nil, 3]),
            Chart.Series(name: "c", style: "c-y", values: [1, nil, nil]),
        ]
        let bars = Chart.stacked(series, title: "T <1>", ends: ("then", "now"), unit: "per s")
        #expect(bars.components(separatedBy: "<rect").count == 4)
        #expect(bars.contains("<title>T &lt;1&gt;</title>") && bars.contains("<li class=\"c-x\">a &amp; b</li>"))
        let lines = Chart.lines(series, title: "T", ends: ("then", "now"), unit: "ms")
        #expect(lines.components(separatedBy: "M").count == 4 && !lines.contains("L"))
    }
}
