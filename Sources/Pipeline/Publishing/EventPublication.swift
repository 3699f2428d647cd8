import Fulfillment

/// An event with the trace of the record that caused it, if one did.
struct TracedEvent: Sendable {
    let event: OutcomeEvent
    var traceparent: String?
}

/// Publishes events that the outbox has. Their rows are deleted once the events are acknowledged.
struct EventPublication: Sendable {
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics

    /// Publishes in order, with all events under way at once.
    /// - Parameter point: the point at which the chaos suite may kill the process once all are acknowledged.
    func publish(_ events: [TracedEvent], then point: CrashPoint? = nil) async throws(Abandoned) {
        guard !events.isEmpty else { return }
        try await publisher.publish(events)
        point?.reached()
        for one in events { metrics.published(one.event) }
        ledger.published(events.map { $0.event.eventID })
    }
}
