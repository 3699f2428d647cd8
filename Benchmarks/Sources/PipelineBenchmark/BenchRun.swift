import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka

/// One latency: a backlog worked off, then a paced load, then single submissions.
struct BenchRun {
    static let partitions: Int32 = 64

    let latency: Double
    let concurrency: Int
    let count: Int
    let measuresLatency: Bool
    private let build: String
    private let settings: [String]

    init(build: String, latency: Double, concurrency: Int, count: Int, settings: [String], measuresLatency: Bool) throws
    {
        self.build = build
        self.latency = latency
        self.concurrency = concurrency
        self.count = count
        self.settings = settings
        self.measuresLatency = measuresLatency
    }

    func measure() throws -> String {
        let parts = try BenchParts(build: build, latency: latency, concurrency: concurrency, settings: settings)
        defer { parts.stop() }
        try parts.submit(count, prefix: "backlog")
        try parts.startWorker()
        try parts.waitForEvents(1)
        let usage = parts.usage()
        let startCount = parts.outcomes.count
        try parts.waitForEvents(count)
        let end = parts.usage()
        let counted = Double(count - startCount)
        let rate = Double(count) / parts.outcomes.seconds
        let ceiling = latency > 0 ? Double(concurrency) / latency * 1000 : nil
        var columns = [
            format(latency, 0), format(rate, 0), ceiling.map { format(100 * rate / $0, 0) + " %" } ?? "-",
            format((end.worker - usage.worker) / counted * 1000, 3),
            format((end.postgres - usage.postgres) / counted * 1000, 3), format(Double(end.peakMemory) / 1_048_576, 0),
        ]
        var lines: [String] = []
        if measuresLatency {
            let paced = try parts.pacedLatencies(rate: min(rate / 2, 1000), count: 3000)
            columns += [format(paced[paced.count / 2], 1), format(paced[paced.count * 99 / 100], 1)]
            let single = try parts.singleLatencies(count: 20)
            lines.append(
                "  single submissions on the idle worker: median \(format(single[single.count / 2], 1)) ms, "
                    + "of which Apple \(format(latency, 0)) ms")
        }
        lines.append("  " + parts.stageShares())
        return ([columns.joined(separator: " | ")] + lines).joined(separator: "\n")
    }

    private func format(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }
}
