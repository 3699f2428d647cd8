import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// A notification, from the topic or from Apple's history.
struct ReceivedNotification: Sendable {
    /// The notification's record. For a notification from Apple's history, the worker makes up a record.
    let record: ConsumerRecord
    let source: PurchaseSource
}

/// Processes a batch of notifications: judges them, stores their effects in the database, and publishes events.
struct NotificationWorker: Sendable {
    let source: NotificationSource
    let catalog: @Sendable () -> Catalog
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let queries: any StoreQueries
    let metrics: PipelineMetrics
    let logger: Logger

    private struct Judged {
        let record: ConsumerRecord
        let type: String
        let received: ReceivedNotice
    }

    /// Processes a batch. Returns when Kafka has acknowledged the batch's dead letters and events, and the database has
    /// committed the rest. Throws `Abandoned` if the publisher closes, and the database's error if PostgreSQL cannot be
    /// reached. The caller may then pass the batch again.
    /// - Returns: the history of the database that stores the batch's effects; nil if no database does.
    func work(on notifications: [ReceivedNotification]) async throws -> DatabaseHistory? {
        let catalog = catalog()
        var judged: [Judged] = []
        for one in notifications {
            CrashPoint.reading(one.record.value)
            switch verdict(on: one, catalog) {
            case (let type, .deadLetter(let letter)): try await bury(one.record, letter, type)
            case (let type, .taken(let notice)): judged.append(self.judged(one, type, notice, catalog))
            case (let type, .needsPart(let refund)):
                if let notice = refund.notice(after: await transaction(of: refund, under: catalog)) {
                    judged.append(self.judged(one, type, notice, catalog))
                } else {
                    try await bury(one.record, refund.deadLetter, type)
                }
            }
        }
        let applied = try await Suspected.waiting {
            try await source.notices.apply(judged.map(\.received), catalog: catalog)
        }
        CrashPoint.refunded.reached()
        var events: [TracedEvent] = []
        for (one, outcome) in zip(judged, applied.value.effects) {
            switch outcome {
            case .refused:
                try await bury(one.record, .refusedByDatabase, one.type)
            case .applied(let effect):
                count(one.type, effect.name)
                events += effect.events.map { TracedEvent(event: $0, traceparent: one.received.traceparent) }
            }
        }
        events += applied.value.events.map { TracedEvent(event: $0) }
        try await EventPublication(publisher: publisher, ledger: ledger, metrics: metrics)
            .publish(events, then: .refundPublished)
        return applied.history
    }

    private func judged(
        _ one: ReceivedNotification, _ type: String, _ notice: StoreNotice, _ catalog: Catalog
    ) -> Judged {
        noteUnknownApp(notice, catalog)
        let place = one.record.topicPartition
        let received = ReceivedNotice(
            notice, source: one.source, topic: place.topic, partition: place.partition,
            traceparent: one.record.traceparent, decidedAt: WallClock.now)
        return Judged(record: one.record, type: type, received: received)
    }

    /// Returns the verdict, and the type under which the metric counts the notification.
    private func verdict(
        on received: ReceivedNotification, _ catalog: Catalog
    ) -> (type: String, NotificationVerdict) {
        guard let value = received.record.value else {
            return (Self.unreadable, .deadLetter(DeadLetter(reason: .malformedMessage, detail: "the value is null")))
        }
        switch source.parser.parse(notification: value) {
        case .unusable(let why), .notProvable(let why):
            return (Self.unreadable, .deadLetter(DeadLetter(notification: value, unreadable: why)))
        case .read(let notification):
            return (
                Self.seriesName(of: notification.type), notification.verdict(under: catalog, from: received.source)
            )
        }
    }

    /// Returns the transaction as Apple describes it now. Nil if the app has no credentials, or if Apple does not
    /// answer. The worker sends one request. After a failure the notification becomes a dead letter for an operator. If
    /// the operator redrives the dead letter, the worker sends the request again.
    private func transaction(of refund: UnreadRefund, under catalog: Catalog) async -> NotifiedTransaction? {
        let app = refund.transaction.bundleID
        guard let credentials = catalog.apps[app]?.serverAPI else { return nil }
        let context = StoreQueryContext(
            bundleID: app, credentials: credentials, environment: refund.transaction.environment, share: .history)
        guard case .answered(let told) = await queries.transaction(refund.transactionID, context) else { return nil }
        return told
    }

    /// Makes the notification a dead letter, and returns when Kafka has acknowledged it.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter, _ type: String) async throws {
        let fields = try await published(letter, of: record)
        count(type, "dead_letter")
        if Self.takingBack.contains(type) {
            logger.error(
                """
                a refund notification became a dead letter and changed no grant: if the grant must change, change it \
                with `receiptd grants`
                """, fields)
        } else {
            logger.warning(topic.invalid, fields)
        }
    }

    /// The types of notifications that take a purchase from its player or give it back. The game server must learn of
    /// every such change.
    private static let takingBack: Set<String> = ["REFUND", "REVOKE", "REFUND_REVERSED"]

    private func noteUnknownApp(_ notice: StoreNotice, _ catalog: Catalog) {
        guard !notice.isUnconcerned, let bundleID = notice.bundleID, catalog.apps[bundleID] == nil else { return }
        logger.notice(
            "the worker stored a notification of an app that the catalog does not have",
            [.bundleID: "\(bundleID)", .transactionID: "\(notice.transactionID?.text ?? "")"])
    }

    private func count(_ type: String, _ result: String) {
        metrics.all.notifications.with(type, result).increment()
    }

    static let unreadable = "unreadable"

    static func seriesName(of type: String) -> String { known.contains(type) ? type : "other" }

    /// Apple's types (source: `notificationType`, App Store Server Notifications 2). All other types share one series.
    private static let known: Set<String> = [
        "SUBSCRIBED", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "OFFER_REDEEMED", "DID_RENEW", "EXPIRED",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED",
        "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "REVOKE", "TEST", "RENEWAL_EXTENSION", "REFUND_REVERSED",
        "EXTERNAL_PURCHASE_TOKEN", "ONE_TIME_CHARGE", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE",
    ]
}
