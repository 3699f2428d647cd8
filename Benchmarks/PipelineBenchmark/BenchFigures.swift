import Foundation

/// The cost of one run.
struct BenchFigures {
    /// Submissions a second; nil if the run has a set rate.
    var throughput: Double?
    /// The seconds of processor time for 1,000 submissions.
    var workerSeconds: Double
    var postgresSeconds: Double
    /// The peak memory of the largest worker, in MiB.
    var peakMemory: Double
    /// The milliseconds from record to event.
    var median: Double?
    var percentile99: Double?

    /// Enters a run's sorted latencies.
    mutating func take(_ latencies: [Double]) {
        guard !latencies.isEmpty else { return }
        median = latencies[latencies.count / 2]
        percentile99 = latencies[latencies.count * 99 / 100]
    }
}

/// Compares two builds that run in turn, so that slow and fast minutes of the machine affect both.
struct BenchComparison {
    private static let columns: [(name: String, figure: @Sendable (BenchFigures) -> Double?)] = [
        ("throughput", { $0.throughput }), ("worker CPU", { $0.workerSeconds }),
        ("PostgreSQL CPU", { $0.postgresSeconds }), ("peak memory", { $0.peakMemory }), ("median", { $0.median }),
        ("99th percentile", { $0.percentile99 }),
    ]

    private(set) var ours: [BenchFigures] = []
    private(set) var theirs: [BenchFigures] = []

    /// Runs A B B A …, so that a machine that grows slower favours neither.
    mutating func run(pairs: Int, _ measure: (_ isOurs: Bool) throws -> BenchFigures) rethrows {
        for pair in 0..<pairs {
            for isOurs in [pair.isMultiple(of: 2), !pair.isMultiple(of: 2)] {
                let figures = try measure(isOurs)
                if isOurs { ours.append(figures) } else { theirs.append(figures) }
            }
        }
    }

    /// The ratios of our figures to theirs: the geometric mean of the pairs, the smallest ratio and the largest.
    var text: String {
        Self.columns.compactMap { name, figure in
            let ratios = zip(ours, theirs).compactMap { ours, theirs -> Double? in
                guard let own = figure(ours), let other = figure(theirs), other > 0, own > 0 else { return nil }
                return own / other
            }
            guard let least = ratios.min(), let most = ratios.max() else { return nil }
            let mean = exp(ratios.map { log($0) }.reduce(0, +) / Double(ratios.count))
            return String(format: "  %@: %.2f (%.2f to %.2f)", name, mean, least, most)
        }.joined(separator: "\n")
    }
}
