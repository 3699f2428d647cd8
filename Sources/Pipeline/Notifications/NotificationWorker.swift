import Fulfillment
import Kafka
import Logging
import Operations

/// What is done with a batch of notifications: judged, entered in the database, and told.
struct NotificationWorker: Sendable {
    let source: NotificationSource
    let catalog: @Sendable () -> Catalog?
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics
    let logger: Logger

    /// Done when everything of the batch is durable: dead letters acknowledged, refunds committed. Their events are
    /// published here too, and stay in the outbox until that is acknowledged. Throws `Abandoned` where the publisher
    /// closes, and what the database throws while it is out of reach; the batch may be given again then.
    ///
    /// Returns the history of the database that holds its effects, nil where it has none there.
    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory? {
        guard let catalog = catalog() else { throw Abandoned() }
        var notices: [(record: ConsumerRecord, type: String, received: ReceivedNotice)] = []
        for record in records {
            switch verdict(on: record, catalog) {
            case (let type, .unconcerned): count(type, "unconcerned")
            case (let type, .deadLetter(let letter)): try await bury(record, letter, type)
            case (let type, .refund(let notice)):
                if catalog.apps[notice.transaction.bundleID] == nil { noteUnknownApp(notice) }
                notices.append(
                    (
                        record, type,
                        ReceivedNotice(
                            notice, topic: record.topicPartition.topic, partition: record.topicPartition.partition,
                            traceparent: record.traceparent, decidedAt: WallClock.now)
                    ))
            }
        }
        let applied = try await source.refunds.apply(notices.map(\.received), catalog: catalog)
        CrashPoint.refunded.reached()
        for (one, outcome) in zip(notices, applied.value) {
            switch outcome {
            case .refused:
                let detail = "the database refuses its data"
                try await bury(one.record, DeadLetter(reason: .malformedMessage, detail: detail), one.type)
            case .applied(let effect):
                count(one.type, effect.name)
                guard case .published(let event) = effect else { continue }
                try await publisher.publish(event, traceparent: one.received.traceparent)
                CrashPoint.refundPublished.reached()
                metrics.published(event)
                ledger.published([event.eventID])
            }
        }
        return applied.history
    }

    /// With the type as the metric names it.
    private func verdict(on record: ConsumerRecord, _ catalog: Catalog) -> (type: String, NotificationVerdict) {
        guard let value = record.value else {
            return (Self.unreadable, .deadLetter(DeadLetter(reason: .malformedMessage, detail: "the value is null")))
        }
        switch source.parser.parse(notification: value) {
        case .unusable(let why):
            return (Self.unreadable, .deadLetter(DeadLetter(reason: .malformedMessage, detail: why)))
        case .read(let notification):
            let type = Self.known.contains(notification.type) ? notification.type : "other"
            return (type, notification.verdict(under: catalog))
        }
    }

    /// Returns when the dead letter is acknowledged.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter, _ type: String = unreadable) async throws {
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

    private func noteUnknownApp(_ notice: RefundNotice) {
        logger.notice(
            "a refund in an app that the catalog does not have is remembered",
            [.bundleID: "\(notice.transaction.bundleID)", .transactionID: "\(notice.transactionID)"])
    }

    private func count(_ type: String, _ result: String) {
        metrics.all.notifications.with(type, result).increment()
    }

    private static let unreadable = "unreadable"

    /// Apple's types (source: `notificationType`, App Store Server Notifications 2). Others share a series.
    private static let known: Set<String> = [
        "SUBSCRIBED", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "OFFER_REDEEMED", "DID_RENEW", "EXPIRED",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
        "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "REVOKE", "TEST", "RENEWAL_EXTENSION", "REFUND_REVERSED",
        "EXTERNAL_PURCHASE_TOKEN", "ONE_TIME_CHARGE", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE",
    ]
}
