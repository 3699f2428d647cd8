import Fulfillment
import Ledger
import NamesAndTimes
import Operations
import Postgres
import Synchronization

/// Adds this worker's counts to the fleet's counts in PostgreSQL after each minute, for the console's charts. Counts
/// that PostgreSQL could not store are stored with the next minute's counts. If the process is killed, the counts of
/// its last minute are lost.
package struct TrafficCounting: Sendable {
    private static let minute = 60.0
    /// The seconds from the minute's end to the report, so that the minute is over by PostgreSQL's clock too.
    private static let delay = 1.0

    let store: TrafficStore
    let refusals: LocalRefusalStore
    let metrics: ReceiptdMetrics
    let failures: Failures
    private let told = Told()

    package init(pool: PostgresPool, metrics: ReceiptdMetrics, failures: Failures) {
        (store, refusals) = (TrafficStore(pool: pool), LocalRefusalStore(pool: pool))
        self.metrics = metrics
        self.failures = failures
    }

    package func run() async {
        while !Task.isCancelled {
            let passed = (Double(WallClock.now.milliseconds) / 1000).truncatingRemainder(dividingBy: Self.minute)
            guard (try? await Task.sleep(for: .seconds(Self.minute - passed + Self.delay))) != nil else { return }
            await tell()
        }
    }

    /// Stores the remaining counts, and gives up after a second. Does nothing while a part that the worker needs fails.
    package func tellLast() async {
        guard failures.unmet.isEmpty else { return }
        await LastReport.run { await tell() }
    }

    private func tell() async {
        let now = counted
        let before = told.counts.withLock { $0 }
        let new = now.map { TrafficCount($0.key.kind, $0.key.name, $0.value - (before[$0.key] ?? 0)) }
        do {
            try await store.add(new.filter { $0.count > 0 })
            told.counts.withLock { $0 = now }
            try await tellRefusals()
            failures.recovered(.traffic)
        } catch {
            failures.failed(.traffic, error)
        }
    }

    private func tellRefusals() async throws {
        let refused = metrics.localRefusals.take()
        do {
            try await refusals.add(refused)
        } catch {
            metrics.localRefusals.putBack(refused)
            throw error
        }
    }

    private struct Key: Hashable {
        let kind: TrafficCount.Kind
        let name: String
    }

    /// The counts since the process started.
    private var counted: [Key: Int] {
        var counts: [Key: Int] = [:]
        func add(_ kind: TrafficCount.Kind, _ families: [(labelValues: [String], child: Counter)]) {
            for (labels, counter) in families {
                counts[Key(kind: kind, name: labels.filter { !$0.isEmpty }.joined(separator: " "))] = counter.value
            }
        }
        add(.ofClass, metrics.submissions.all())
        add(.outcome, metrics.outcomes.all())
        add(.deadLetter, metrics.deadLetters.all())
        add(.apple, metrics.appleRequests.all())
        let seconds = metrics.appleRequestDuration
        for (bound, count) in zip(
            seconds.upperBounds.map { "\($0)" } + [TrafficCount.unbounded], seconds.reading.counts)
        {
            counts[Key(kind: .appleSeconds, name: bound)] = count
        }
        return counts
    }

    /// The counts at the time of the last report that PostgreSQL stored.
    private final class Told: Sendable {
        let counts = Mutex<[Key: Int]>([:])
    }
}
