import Fulfillment

/// An event, and the W3C trace context of the record that caused it; nil if there is none.
struct TracedEvent: Sendable {
    let event: OutcomeEvent
    var traceparent: String?
}

/// Publishes events of the outbox, and deletes their rows when Kafka has acknowledged them.
struct EventPublication: Sendable {
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics

    /// Publishes the events in order, and returns when Kafka has acknowledged all of them.
    /// - Parameter point: the point at which tests may kill the process, after Kafka has acknowledged all events.
    func publish(_ events: [TracedEvent], then point: CrashPoint? = nil) async throws(Abandoned) {
        guard !events.isEmpty else { return }
        try await publisher.publish(events)
        point?.reached()
        for one in events { metrics.published(one.event) }
        ledger.published(events.map { $0.event.eventID })
    }
}
