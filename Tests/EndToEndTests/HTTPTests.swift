import AppStoreSimulation
import Foundation
import Kafka
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("a worker without a schema or a catalog is unready, names the command to run, and is ready once both exist")
    func readiness() async throws {
        try await Testbed.run(on: .empty) { bed in
            let worker = try bed.startWorker()
            func reason(_ text: String) async throws {
                try await eventually("/readyz says \(text)") {
                    guard let answer = try? await worker.get("/readyz") else { return false }
                    return answer.status == 503 && answer.body.contains(text)
                }
                #expect(worker.process.isRunning)
                #expect(try await worker.get("/livez").status == 200)
            }
            try await reason("receiptd migrate")
            let other = try bed.startWorker()
            try await eventually("the other waits too") { other.log.contains("receiptd migrate") }
            other.process.terminate()
            #expect(try await other.ending() == 0)
            #expect(try await Program.run(["migrate"], environment: bed.environment()).code == 0)
            try await reason("catalog import")
            let imported = try await Program.run(
                ["catalog", "import", Seeds.catalogFile.path], environment: bed.environment())
            #expect(imported.code == 0, "\(imported.errors)")
            try await eventually("ready", within: .seconds(10)) { await worker.isReady() }
            let plan = Plan.genuine(count: 5, players: 5)
            try await bed.submit(plan.records)
            try await bed.settle(plan)
            worker.process.terminate()
            #expect(try await worker.ending() == 0)
        }
    }

    @Test("under load the metrics have the documented names and correct counts, in a form that promtool accepts")
    func metrics() async throws {
        let plan = TrafficGenerator.plan(seed: 7, count: 600)
        try await Testbed.run(latency: .uniform(5, 50)) { bed in
            let worker = try bed.startWorker()
            var feed = Feed(bed: bed, plan: plan)
            try await feed.sendAndAwaitProgress(plan.records.count)
            let scrape = try await worker.scrape()
            for name in Self.promised { #expect(scrape.names.contains(name), "\(name) is missing") }
            try await Promtool.check(scrape.text)
            try await bed.settle(plan)
            let end = try await worker.scrape()
            try await Promtool.check(end.text)
            let granted = Set(bed.outcomes.content.events.filter { $0.type == "receipt.granted" }.map(\.id)).count
            #expect(end[#"receiptd_outcomes_total{type="receipt.granted",reason=""}"#] ?? 0 >= Double(granted))
            #expect(
                end[#"receiptd_dead_letters_total{reason="malformed_message"}"#] == Double(plan.deadLetters.count))
            try await eventually("the gauges tell the end") {
                let scrape = try await worker.scrape()
                return scrape["receiptd_in_flight"] == 0 && scrape["receiptd_outbox_pending"] == 0
                    && scrape["receiptd_held"] ?? 0 > 0
            }
            let page = try await worker.get("/")
            #expect(page.status == 200 && page.body.contains("<html"))
        }
    }

    static let promised = [
        "receiptd_outcomes_total", "receiptd_dead_letters_total", "receiptd_apple_requests_total",
        "receiptd_apple_request_duration_seconds", "receiptd_apple_concurrency_limit", "receiptd_apple_circuit_open",
        "receiptd_in_flight", "receiptd_parked", "receiptd_held", "receiptd_outbox_pending", "receiptd_consumer_lag",
        "receiptd_submission_duration_seconds", "receiptd_misconfigured", "receiptd_offset_resets_total",
        "receiptd_ready", "receiptd_assigned_partitions", "receiptd_failures_total",
    ]
}

/// Prometheus' own check of a scrape.
enum Promtool {
    private static let places = ["/usr/bin/promtool", "/usr/local/bin/promtool", "/opt/homebrew/bin/promtool"]

    static func check(_ text: String) async throws {
        guard let path = places.first(where: FileManager.default.isExecutableFile(atPath:)) else {
            return print("promtool is not installed: the metrics' form is not checked")
        }
        let ending = try await blocking { try EndedProgram.run([path, "check", "metrics"], input: text) }
        #expect(ending.code == 0, "promtool says: \(ending.output)\(ending.errors)")
    }
}
