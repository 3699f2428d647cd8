import Foundation
import Operations

/// The content of the worker's page, also at `/status.json`. The counts are totals since the start of the process. The
/// page computes rates from the counts at two times.
struct StatusReport: Encodable {
    struct Outcome: Encodable {
        let type: String
        let reason: String
        let count: Int
    }

    struct Result: Encodable {
        let endpoint: String
        let environment: String
        let result: String
        let count: Int
    }

    struct Bucket: Encodable {
        /// The bucket's upper bound in seconds; `null` for the last bucket, which has no bound.
        let upTo: Double?
        let count: Int
    }

    struct Apple: Encodable {
        let requests: Int
        let errors: Int
        let results: [Result]
        let durationSum: Double
        let durationCount: Int
        let durationBuckets: [Bucket]
        let concurrencyLimit: Double
        /// True if the worker holds back requests for every app and endpoint in use, after failures or a `Retry-After`.
        /// Only requests to Production about players' proofs count.
        let isDown: Bool
        /// The open circuit breakers, which hold back requests to Apple after failures, each as `bundle_id endpoint`.
        let openCircuits: [String]
        /// A sentence for each of Apple's addresses that does not answer.
        let outages: [String]
    }

    struct Partition: Encodable {
        let topic: String
        let partition: String
        let lag: Double
    }

    struct Lag: Encodable {
        let total: Double
        let partitions: Int
        /// The partition with the longest lag, as `topic/partition`.
        let longestPartition: String?
        let longest: Double
    }

    let version: String
    let live: Bool
    let ready: Bool
    let problems: [String]
    /// The failures that do not make the process unready.
    let notes: [String]
    /// The monotonic time in seconds. Only the difference between two reports has a meaning.
    let clockSeconds: Double
    let submissions: Int
    let outcomes: [Outcome]
    let deadLetters: [Outcome]
    let inFlight: Double
    let inFlightBytes: Double
    let paused: Bool
    let parked: Double
    let held: Double
    let outboxPending: Double
    let lag: Lag
    let partitions: [Partition]
    let classes: [String: Int]
    let apple: Apple
    let misconfigured: [String]

    init(metrics: ReceiptdMetrics, health: Health) {
        metrics.registry.refresh()
        let stuck = health.stuck
        let unmet = health.unmet
        version = metrics.version
        live = stuck.isEmpty
        ready = unmet.isEmpty
        problems = stuck + unmet
        notes = health.notes
        clockSeconds = Double(DispatchTime.now().uptimeNanoseconds) / 1e9
        submissions = metrics.submissionDuration.reading.count
        outcomes = metrics.outcomes.all().map {
            Outcome(type: $0.labelValues[0], reason: $0.labelValues[1], count: $0.child.value)
        }
        deadLetters = metrics.deadLetters.all().map {
            Outcome(type: "dead letter", reason: $0.labelValues[0], count: $0.child.value)
        }
        inFlight = metrics.inFlight.value
        inFlightBytes = metrics.inFlightBytes.value
        paused = metrics.paused.value != 0
        parked = metrics.parked.value
        held = metrics.held.value
        outboxPending = metrics.outboxPending.value
        lag = Lag(metrics.consumerLag)
        partitions = metrics.consumerLag.all()
            .map { Partition(topic: $0.labelValues[0], partition: $0.labelValues[1], lag: $0.child.value) }
            .sorted { ($0.topic, Int($0.partition) ?? 0) < ($1.topic, Int($1.partition) ?? 0) }
        classes = Dictionary(
            uniqueKeysWithValues: metrics.submissions.all().map { ($0.labelValues[0], $0.child.value) })
        apple = Apple(metrics)
        misconfigured = metrics.misconfigured.all().filter { $0.child.value != 0 }.map { $0.labelValues[0] }
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try encoder.encode(self)
    }
}

extension StatusReport.Lag {
    init(_ family: GaugeFamily) {
        let partitions = family.all().map { (name: $0.labelValues.joined(separator: "/"), lag: $0.child.value) }
        let longest = partitions.max { $0.lag < $1.lag }
        self.init(
            total: partitions.reduce(0) { $0 + $1.lag }, partitions: partitions.count,
            longestPartition: longest?.name, longest: longest?.lag ?? 0)
    }
}

extension StatusReport.Apple {
    init(_ metrics: ReceiptdMetrics) {
        let results = metrics.appleRequests.all().map {
            StatusReport.Result(
                endpoint: $0.labelValues[0], environment: $0.labelValues[1], result: $0.labelValues[2],
                count: $0.child.value)
        }
        let requests = results.reduce(0) { $0 + $1.count }
        let answered = results.filter { ReceiptdMetrics.appleAnswered.contains($0.result) }.reduce(0) { $0 + $1.count }
        let histogram = metrics.appleRequestDuration
        let reading = histogram.reading
        self.init(
            requests: requests, errors: requests - answered, results: results,
            durationSum: reading.sum, durationCount: reading.count,
            durationBuckets: zip(histogram.upperBounds.map(Optional.some) + [nil], reading.counts)
                .map { StatusReport.Bucket(upTo: $0, count: $1) },
            concurrencyLimit: metrics.appleConcurrencyLimit.value, isDown: metrics.appleDown.value != 0,
            openCircuits: metrics.appleCircuitOpen.all().filter { $0.child.value != 0 }
                .map { $0.labelValues.joined(separator: " ") },
            outages: metrics.appleOutages.all)
    }
}
