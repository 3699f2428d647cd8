import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Reads a run's figures from the kernel and from the workers' metrics.
extension BenchParts {
    func usage() -> Usage {
        let processes = workers.compactMap { ProcessUsage(processID: $0.processIdentifier) }
        return Usage(
            worker: processes.reduce(0) { $0 + $1.cpuSeconds },
            postgres: ProcessUsage.treeSeconds(processID: database.processID),
            peakMemory: processes.map(\.peakMemory).max() ?? 0, memory: processes.map(\.memory).max() ?? 0)
    }

    /// The metrics of the first worker; nil without an answer.
    private var metrics: String? {
        URL(string: "http://127.0.0.1:\(port)/metrics").flatMap { try? String(contentsOf: $0, encoding: .utf8) }
    }

    /// The number of requests to Apple, from the worker's own metrics.
    func appleRequests() throws -> Double {
        guard let metrics else { throw Failure(description: "the worker tells no metrics") }
        return metrics.split(separator: "\n").filter { $0.hasPrefix("receiptd_apple_requests_total{") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    /// Each stage's share of a submission's time, from the worker's own metrics.
    func stageShares() -> String {
        guard let metrics else { return "stages: no metrics" }
        var sums: [(String, Double)] = []
        for line in metrics.split(separator: "\n") where line.hasPrefix("receiptd_stage_duration_seconds_sum{stage=\"")
        {
            let parts = line.dropFirst("receiptd_stage_duration_seconds_sum{stage=\"".count).split(separator: "\"")
            guard let value = line.split(separator: " ").last.flatMap({ Double($0) }) else { continue }
            sums.append((String(parts[0]), value))
        }
        let total = sums.reduce(0) { $0 + $1.1 }
        guard total > 0 else { return "stages: none" }
        let shares = sums.map { "\($0.0) \(String(format: "%.0f", 100 * $0.1 / total)) %" }
        return "stages: " + shares.joined(separator: ", ") + "; a request to Apple \(meanRequest(metrics))"
    }

    /// Returns the mean time from the start of a request to Apple's answer.
    private func meanRequest(_ metrics: String) -> String {
        func value(_ suffix: String) -> Double {
            metrics.split(separator: "\n").first {
                $0.hasPrefix("receiptd_apple_request_duration_seconds_\(suffix) ")
            }.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? 0
        }
        return String(format: "%.1f ms", value("sum") / max(1, value("count")) * 1000)
    }
}
