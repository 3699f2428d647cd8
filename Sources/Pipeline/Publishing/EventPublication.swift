import Fulfillment

/// An event with the trace of the record that caused it, where a record did.
struct TracedEvent: Sendable {
    let event: OutcomeEvent
    var traceparent: String?
}

/// Publishes what the outbox has already: the rows go once their events are acknowledged.
struct EventPublication: Sendable {
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics

    /// Publishes in order, all at once.
    /// - Parameter point: where the chaos suite may kill the process once all are acknowledged.
    func publish(_ events: [TracedEvent], then point: CrashPoint? = nil) async throws(Abandoned) {
        guard !events.isEmpty else { return }
        try await publisher.publish(events)
        point?.reached()
        for one in events { metrics.published(one.event) }
        ledger.published(events.map { $0.event.eventID })
    }
}
