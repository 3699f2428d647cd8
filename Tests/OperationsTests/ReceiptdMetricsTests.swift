import Foundation
import TestSupport
import Testing

@testable import Operations
@testable import OperationsHTTP

@Suite("receiptd's metrics")
struct ReceiptdMetricsTests {
    /// The metrics of the contract: name, type and labels.
    static let promised: [(String, String, [String])] = [
        ("receiptd_outcomes_total", "counter", ["type", "reason"]),
        ("receiptd_dead_letters_total", "counter", ["reason"]),
        ("receiptd_apple_requests_total", "counter", ["endpoint", "environment", "result"]),
        ("receiptd_apple_request_duration_seconds", "histogram", []),
        ("receiptd_apple_concurrency_limit", "gauge", []),
        ("receiptd_apple_circuit_open", "gauge", ["bundle_id", "endpoint"]),
        ("receiptd_in_flight", "gauge", []),
        ("receiptd_parked", "gauge", []),
        ("receiptd_held", "gauge", []),
        ("receiptd_outbox_pending", "gauge", []),
        ("receiptd_consumer_lag", "gauge", ["topic", "partition"]),
        ("receiptd_submission_duration_seconds", "histogram", []),
        ("receiptd_misconfigured", "gauge", ["bundle_id"]),
    ]

    /// Returns metrics with a child in every family.
    static func filled() -> ReceiptdMetrics {
        let metrics = ReceiptdMetrics(version: "1.2.3")
        metrics.outcomes.with("receipt.rejected", "foreign_app").increment()
        metrics.appleRequests.with("verifyReceipt", "Production", "genuine").increment(by: 3)
        metrics.appleRequests.with("verifyReceipt", "Production", "timeout").increment()
        metrics.appleRequestDuration.observe(0.3)
        metrics.appleCircuitOpen.with("com.example.a", "verifyReceipt").set(true)
        metrics.consumerLag.with("submissions", "0").set(7)
        metrics.consumerLag.with("submissions", "1").set(70)
        metrics.misconfigured.with("com.example.\"b\"").set(1)
        metrics.stageDuration.with("database").observe(0.004)
        metrics.submissionDuration.observe(0.2)
        return metrics
    }

    @Test("A scrape shows every metric of the contract with the contract's type and labels", arguments: promised)
    func contract(name: String, type: String, labels: [String]) throws {
        let lines = Self.filled().registry.render().split(separator: "\n")
        #expect(lines.contains("# TYPE \(name) \(type)"))
        let series = try #require(lines.first { $0.hasPrefix(name) && !$0.hasPrefix("#") })
        for label in labels { #expect(series.contains("\(label)=\"")) }
    }

    @Test("A scrape declares every metric of the contract before the first event", arguments: promised)
    func declaredAtStart(name: String, type: String, labels: [String]) {
        #expect(ReceiptdMetrics(version: "0").registry.render().contains("# TYPE \(name) \(type)\n"))
    }

    @Test("The counters of granted outcomes and of dead letters with the reason crashed start at 0")
    func zeroes() {
        let text = ReceiptdMetrics(version: "0").registry.render()
        #expect(text.contains("receiptd_outcomes_total{type=\"receipt.granted\",reason=\"\"} 0\n"))
        #expect(text.contains("receiptd_dead_letters_total{reason=\"crashed\"} 0\n"))
    }

    @Test(
        "promtool finds no fault in the metrics",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool")),
        arguments: [ReceiptdMetrics(version: "0"), filled()])
    func lint(metrics: ReceiptdMetrics) throws {
        let ending = try EndedProgram.run(["/usr/bin/promtool", "check", "metrics"], input: metrics.registry.render())
        #expect(ending.output + ending.errors == "")
        #expect(ending.code == 0)
    }

    @Test("The process metrics have plausible values for this process")
    func process() throws {
        let text = ReceiptdMetrics(version: "0").registry.render()
        func value(_ name: String) throws -> Double {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + " ") })
            return try #require(Double(line.dropFirst(name.count + 1)))
        }
        #expect(try value("process_resident_memory_bytes") > 1_000_000)
        #expect(try value("process_cpu_seconds_total") >= 0)
        #expect(try value("process_open_fds") >= 3)
        #expect(try value("process_max_fds") >= value("process_open_fds"))
        #expect(abs(try value("process_start_time_seconds") - Date().timeIntervalSince1970) < 3_600)
    }

    @Test("The parser of /proc's stat file reads the right fields despite spaces and parentheses in the process name")
    func processName() {
        let fields = (3...24).map { "\($0)" }.joined(separator: " ")
        let stat = ProcessMetrics.Stat("1 (a) b (c) \(fields) 0 0\n")
        #expect(stat?.userTicks == 14)
        #expect(stat?.systemTicks == 15)
        #expect(stat?.startTicks == 22)
        #expect(stat?.residentPages == 24)
        #expect(ProcessMetrics.Stat("1 (a) 3 4") == nil)
        #expect(ProcessMetrics.Stat("") == nil)
    }

    @Test("The status report sums submissions, lag and Apple's requests, and lists problems and misconfigured apps")
    func status() throws {
        let health = Health()
        for condition in Health.ReadinessCondition.allCases { health.set(condition, unmet: nil) }
        health.set(.joinedGroup, unmet: "no partitions")
        let report = StatusReport(metrics: Self.filled(), health: health)
        #expect(report.live)
        #expect(!report.ready)
        #expect(report.problems == ["no partitions"])
        #expect(report.submissions == 1)
        #expect(report.lag.total == 77)
        #expect(report.lag.longestPartition == "submissions/1")
        #expect(report.apple.requests == 4)
        #expect(report.apple.errors == 1)
        #expect(report.apple.openCircuits == ["com.example.a verifyReceipt"])
        #expect(report.misconfigured == ["com.example.\"b\""])
        let object = try #require(JSONSerialization.jsonObject(with: report.json()) as? [String: Any])
        #expect(object["in_flight"] as? Double == 0)
        #expect(object["outbox_pending"] as? Double == 0)
    }
}
