import Clocks
import Fulfillment
import Identifiers
import Kafka
import Logging
import Operations
import Timestamps

/// A notification, whichever way it came.
struct ReceivedNotification: Sendable {
    /// The record that brought it, or one in place of it where Apple was asked.
    let record: ConsumerRecord
    let source: PurchaseSource
}

/// What is done with a batch of notifications: judged, entered in the database, and told.
struct NotificationWorker: Sendable {
    let source: NotificationSource
    let catalog: @Sendable () -> Catalog?
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics
    let logger: Logger

    private struct Judged {
        let record: ConsumerRecord
        let type: String
        let received: ReceivedNotice
    }

    /// Done when everything of the batch is durable: dead letters acknowledged, the rest committed. Their events are
    /// published here too, and stay in the outbox until that is acknowledged. Throws `Abandoned` where the publisher
    /// closes, and what the database throws while it is out of reach; the batch may be given again then.
    ///
    /// Returns the history of the database that holds its effects, nil where it has none there.
    func work(on notifications: [ReceivedNotification]) async throws -> DatabaseHistory? {
        guard let catalog = catalog() else { throw Abandoned() }
        var judged: [Judged] = []
        for one in notifications {
            CrashPoint.reading(one.record.value)
            let place = one.record.topicPartition
            switch verdict(on: one, catalog) {
            case (let type, .deadLetter(let letter)): try await bury(one.record, letter, type)
            case (let type, .taken(let notice)):
                noteUnknownApp(notice, catalog)
                let received = ReceivedNotice(
                    notice, source: one.source, topic: place.topic, partition: place.partition,
                    traceparent: one.record.traceparent, decidedAt: WallClock.now)
                judged.append(Judged(record: one.record, type: type, received: received))
            }
        }
        let applied = try await source.notices.apply(judged.map(\.received), catalog: catalog)
        CrashPoint.refunded.reached()
        for (one, outcome) in zip(judged, applied.value.effects) {
            switch outcome {
            case .refused:
                let detail = "the database refuses its data"
                try await bury(one.record, DeadLetter(reason: .malformedMessage, detail: detail), one.type)
            case .applied(let effect):
                count(one.type, effect.name)
                try await publish(effect.events, traceparent: one.received.traceparent)
            }
        }
        try await publish(applied.value.events, traceparent: nil)
        return applied.history
    }

    private func publish(_ events: [OutcomeEvent], traceparent: String?) async throws {
        for event in events {
            try await publisher.publish(event, traceparent: traceparent)
            CrashPoint.refundPublished.reached()
            metrics.published(event)
            ledger.published([event.eventID])
        }
    }

    /// With the type as the metric names it.
    private func verdict(
        on received: ReceivedNotification, _ catalog: Catalog
    ) -> (type: String, NotificationVerdict) {
        guard let value = received.record.value else {
            return (Self.unreadable, .deadLetter(DeadLetter(reason: .malformedMessage, detail: "the value is null")))
        }
        switch source.parser.parse(notification: value) {
        case .unusable(let why), .notProvable(let why):
            return (Self.unreadable, .deadLetter(DeadLetter(reason: .malformedMessage, detail: why)))
        case .read(let notification):
            return (
                Self.seriesName(of: notification.type), notification.verdict(under: catalog, from: received.source)
            )
        }
    }

    /// Returns when the dead letter is acknowledged.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter, _ type: String) async throws {
        let place = record.topicPartition
        let position = RecordPosition(
            topic: place.topic, partition: place.partition, offset: record.offset,
            timestamp: Timestamp(milliseconds: record.timestampMilliseconds ?? 0),
            content: Digest256(hashing: record.value ?? []))
        try await publisher.publish(letter, of: record, position: position)
        metrics.deadLetter(letter.reason)
        count(type, "dead_letter")
        logger.warning(
            "a notification is no use: it is a dead letter",
            [
                .topic: "\(place.topic)", .partition: .stringConvertible(place.partition),
                .offset: .stringConvertible(record.offset), .detail: "\(letter.detail)",
            ])
    }

    private func noteUnknownApp(_ notice: StoreNotice, _ catalog: Catalog) {
        guard !notice.isUnconcerned, let bundleID = notice.bundleID, catalog.apps[bundleID] == nil else { return }
        logger.notice(
            "a notification of an app that the catalog does not have is remembered",
            [.bundleID: "\(bundleID)", .transactionID: "\(notice.transactionID?.text ?? "")"])
    }

    private func count(_ type: String, _ result: String) {
        metrics.all.notifications.with(type, result).increment()
    }

    static let unreadable = "unreadable"

    static func seriesName(of type: String) -> String { known.contains(type) ? type : "other" }

    /// Apple's types (source: `notificationType`, App Store Server Notifications 2). Others share a series.
    private static let known: Set<String> = [
        "SUBSCRIBED", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "OFFER_REDEEMED", "DID_RENEW", "EXPIRED",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
        "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "REVOKE", "TEST", "RENEWAL_EXTENSION", "REFUND_REVERSED",
        "EXTERNAL_PURCHASE_TOKEN", "ONE_TIME_CHARGE", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE",
    ]
}
