import Fulfillment
import Operations
import Synchronization

/// The last minutes of a process's counters, for the charts of the worker's page. The history is limited in time and in
/// size.
final class TrafficHistory: Sendable {
    struct Sample: Sendable, Equatable {
        /// The monotonic time in seconds.
        let seconds: Double
        /// The counts in the order of `ShownClass.allCases`.
        let classes: [Int]
        let submissions: Int
        let apple: Histogram.Reading
        let appleRequests: Int
        let appleErrors: Int
        /// The number of outcomes and dead letters for each type and reason.
        let outcomes: [[String]: Int]
        /// The number of Apple's results for each endpoint, environment and result.
        let results: [[String]: Int]

        /// - Parameter seconds: the sample's time; nil for the report's time.
        init(_ report: StatusReport, metrics: ReceiptdMetrics, seconds: Double? = nil) {
            self.seconds = seconds ?? report.clockSeconds
            let deadLetters = report.deadLetters.reduce(0) { $0 + $1.count }
            let answered = report.outcomes.first {
                $0.type == OutcomeEvent.Kind.rejected.rawValue && $0.reason == Reason.malformedSubmission.rawValue
            }
            classes = ShownClass.allCases.map { kind in
                kind.count(
                    { metrics.submissions.with($0.rawValue).value }, deadLetters: deadLetters,
                    answeredLetters: answered?.count ?? 0)
            }
            submissions = report.submissions
            apple = metrics.appleRequestDuration.reading
            appleRequests = report.apple.requests
            appleErrors = report.apple.errors
            outcomes = Dictionary(
                (report.outcomes + report.deadLetters).map { ([$0.type, $0.reason], $0.count) },
                uniquingKeysWith: { first, _ in first })
            results = Dictionary(
                report.apple.results.map { ([$0.endpoint, $0.environment, $0.result], $0.count) },
                uniquingKeysWith: { first, _ in first })
        }
    }

    /// The values of one bar or one point of a chart.
    struct Bin: Sendable, Equatable {
        /// The number of submissions and dead letters, in the order of `ShownClass.allCases`.
        var classes: [Int]
        /// The requests to Apple by duration.
        var apple: Histogram.Reading
    }

    static let keptSeconds = 15.0 * 60
    static let sampleSeconds = 5.0
    static let binSeconds = 15.0
    static var bins: Int { Int(keptSeconds / binSeconds) }
    /// The shortest time over which a rate is computed, in seconds.
    static let rateSeconds = 10.0

    private let samples = Mutex<[Sample]>([])

    func add(_ sample: Sample) {
        samples.withLock { samples in
            samples.append(sample)
            samples.removeAll { $0.seconds < sample.seconds - Self.keptSeconds - Self.binSeconds }
        }
    }

    /// Returns the newest sample that is at least `rateSeconds` old, or the oldest sample if no sample is that old. Nil
    /// before the first sample.
    func reference(for now: Double) -> Sample? {
        samples.withLock { samples in samples.last { $0.seconds <= now - Self.rateSeconds } ?? samples.first }
    }

    /// Returns the bins up to `last`, oldest first. Bins before the start of the process are empty.
    func bins(upTo last: Sample) -> [Bin] {
        let known = samples.withLock { $0 } + [last]
        let empty = Bin(
            classes: last.classes.map { _ in 0 },
            apple: Histogram.Reading(counts: last.apple.counts.map { _ in 0 }, sum: 0))
        var bins = Array(repeating: empty, count: Self.bins)
        for (before, after) in zip(known, known.dropFirst()) {
            let age = last.seconds - after.seconds
            let index = Self.bins - 1 - Int(age / Self.binSeconds)
            guard bins.indices.contains(index) else { continue }
            for place in bins[index].classes.indices {
                bins[index].classes[place] += after.classes[place] - before.classes[place]
            }
            for place in bins[index].apple.counts.indices {
                bins[index].apple.counts[place] += after.apple.counts[place] - before.apple.counts[place]
            }
        }
        return bins
    }
}

extension Histogram.Reading {
    /// Estimates a quantile as Prometheus does, with a linear distribution in each bucket. Returns the highest bound if
    /// the quantile is above it; nil without observations.
    package func quantile(_ share: Double, upperBounds: [Double]) -> Double? {
        let total = count
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var seen = 0.0
        var below = 0.0
        for (bound, count) in zip(upperBounds, counts) {
            if count > 0, seen + Double(count) >= rank {
                return below + (bound - below) * (rank - seen) / Double(count)
            }
            seen += Double(count)
            below = bound
        }
        return below
    }
}
