import Ledger
import Operations
import Postgres

/// Stores this process's incidents, such as lost records, in PostgreSQL. Reads the whole fleet's incidents for the
/// metrics.
package struct IncidentKeeping: Sendable {
    /// The seconds between two rounds. Each round stores this process's incidents. A round that stored any, and every
    /// fifth round, also reads the fleet's counts.
    private static let seconds = 2.0
    private static let turnsOfCounts = 5

    let store: IncidentStore
    let incidents: Incidents
    let failures: Failures

    package init(pool: PostgresPool, incidents: Incidents, failures: Failures) {
        (store, self.incidents, self.failures) = (IncidentStore(pool: pool), incidents, failures)
    }

    package func run() async {
        var turn = 0
        while !Task.isCancelled {
            let isKept = await keep()
            if isKept || turn % Self.turnsOfCounts == 0 { await tell() }
            turn += 1
            guard (try? await Task.sleep(for: .seconds(Self.seconds))) != nil else { return }
        }
    }

    /// Stores the remaining incidents at the end of the process. Gives up after a second.
    package func keepLast() async {
        await LastReport.run { _ = await keep() }
    }

    /// Stores the waiting incidents. Returns false if there are none, or if PostgreSQL could not store them.
    private func keep() async -> Bool {
        let seen = incidents.take()
        guard !seen.isEmpty else { return false }
        do {
            try await store.add(
                seen.map {
                    IncidentStore.Incident(kind: $0.kind.rawValue, subject: $0.subject, count: $0.count)
                })
            failures.recovered(.incidents)
            return true
        } catch {
            incidents.putBack(seen)
            failures.failed(.incidents, error)
            return false
        }
    }

    private func tell() async {
        do {
            let counts = try await store.counts()
            incidents.set(
                counts.compactMap { count in
                    Incidents.Kind(rawValue: count.kind).map {
                        Incidents.Known(kind: $0, lastSeconds: count.lastSeconds, count: count.count)
                    }
                })
            // If PostgreSQL answers reads but could not store incidents, the failure stays.
            if incidents.areStored { failures.recovered(.incidents) }
        } catch {
            failures.failed(.incidents, error)
        }
    }
}
