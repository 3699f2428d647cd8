import Clocks
import Fulfillment
import Logging
import Operations

/// Delivers purchases that Apple told of and nobody submitted. It asks nobody: the database is all it needs.
struct AnnouncedLoop: Sendable {
    let worker: SubmissionWorker
    let announced: any AnnouncedPurchases
    let health: Health
    let logger: Logger

    /// Until its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            health.beat(.announcedLoop)
            let isFull = await look()
            if isFull { continue }
            let seconds = PipelineLimits.leaseSeconds * Double.random(in: 0.5..<1.5)
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { break }
        }
        health.retire(.announcedLoop)
    }

    /// True where there may be more that is due.
    private func look() async -> Bool {
        guard let catalog = worker.catalog() else { return false }
        // How long the database takes is not this loop's doing, nor is the broker's time.
        health.retire(.announcedLoop)
        do {
            let leased = try await announced.leaseDue(under: catalog, limit: PipelineLimits.announcedBatch)
            if !leased.isEmpty {
                let outcomes = try await announced.deliver(leased, under: catalog, at: WallClock.now)
                CrashPoint.delivered.reached()
                try await tell(outcomes)
            }
            health.failures.recovered(.announced)
            return leased.count == PipelineLimits.announcedBatch
        } catch is Abandoned {
            return false
        } catch {
            health.failures.report(error, of: .announced)
            return false
        }
    }

    private func tell(_ outcomes: [AnnouncedOutcome]) async throws(Abandoned) {
        for outcome in outcomes {
            worker.metrics.all.announced.with(outcome.source.rawValue, outcome.state.rawValue, outcome.reason ?? "")
                .increment()
        }
        let events = outcomes.flatMap(\.events)
        guard !events.isEmpty else { return }
        try await worker.publisher.publish(events, traceparent: nil)
        CrashPoint.deliveryPublished.reached()
        for event in events { worker.metrics.published(event) }
        worker.ledger.published(events.map(\.eventID))
    }
}
