import Synchronization

/// A distribution over fixed buckets. A lock makes count, sum and buckets of a scrape consistent.
public final class Histogram: Metric {
    /// The values at one moment.
    public struct Reading: Sendable, Equatable {
        /// The number of observations in each bucket: above the bound of the previous bucket, and up to the bucket's
        /// own bound. The last bucket has no upper bound.
        public package(set) var counts: [Int]
        /// The sum of all observations, in their unit.
        public package(set) var sum: Double
        package init(counts: [Int], sum: Double) {
            self.counts = counts
            self.sum = sum
        }

        public var count: Int { counts.reduce(0, +) }
    }

    /// The upper bounds of the buckets: inclusive, ascending and finite.
    public let upperBounds: [Double]
    private let state: Mutex<Reading>

    public init(upperBounds: [Double]) {
        precondition(
            !upperBounds.isEmpty && upperBounds.allSatisfy(\.isFinite)
                && zip(upperBounds, upperBounds.dropFirst()).allSatisfy(<),
            "bucket bounds ascend and are finite")
        self.upperBounds = upperBounds
        state = Mutex(Reading(counts: Array(repeating: 0, count: upperBounds.count + 1), sum: 0))
    }

    public var reading: Reading { state.withLock { $0 } }

    /// Counts one observation, in the unit of the metric's name. A value below 0 counts as 0, because a duration by two
    /// machines' clocks may be negative. This function ignores infinite values and NaN, because no later observation
    /// could repair the sum.
    public func observe(_ value: Double) {
        guard value.isFinite else { return }
        let value = max(0, value)
        let bucket = upperBounds.firstIndex { value <= $0 } ?? upperBounds.count
        state.withLock {
            $0.counts[bucket] += 1
            $0.sum += value
        }
    }

    /// Counts a duration in seconds.
    public func observe(_ duration: Duration) { observe(duration / .seconds(1)) }

    public func samples() -> [MetricSample] {
        let reading = reading
        var samples: [MetricSample] = []
        var cumulative = 0
        for (bound, count) in zip(upperBounds + [.infinity], reading.counts) {
            cumulative += count
            samples.append(MetricSample(suffix: "_bucket", upperBound: bound, value: Double(cumulative)))
        }
        samples.append(MetricSample(suffix: "_sum", value: reading.sum))
        samples.append(MetricSample(suffix: "_count", value: Double(cumulative)))
        return samples
    }
}
