import Fulfillment
import Postgres

/// What a settled batch of refunds writes.
struct RefundRows {
    private static let entering = LedgerSQL.statement(PackageResources.upsert_refunds_sql)
    private static let revoking = LedgerSQL.statement(PackageResources.revoke_grants_sql)
    private static let publishing = LedgerSQL.statement(PackageResources.insert_refund_events_sql)

    private typealias Refund = (key: RefundKey, state: RefundView.State, purchase: StorePurchase)

    private let refunds: [Refund]
    /// Those that were new, with their effect.
    private let notices: [(notice: RefundNotice, effect: String)]
    private let grants: [GrantedPurchase]
    private let events: [(event: OutcomeEvent, source: ReceivedNotice)]

    init(received: [ReceivedNotice], effects: [RefundEffect], before: RefundView, after: RefundView) {
        var refunds: [RefundKey: Refund] = [:]
        var notices: [(notice: RefundNotice, effect: String)] = []
        var events: [(event: OutcomeEvent, source: ReceivedNotice)] = []
        for (one, effect) in zip(received, effects) where effect != .duplicate {
            notices.append((one.notice, effect.name))
            if case .published(let event) = effect { events.append((event, one)) }
            if let state = after.states[one.notice.key], state != before.states[one.notice.key] {
                refunds[one.notice.key] = (one.notice.key, state, one.notice.transaction.purchase)
            }
        }
        self.refunds = refunds.values.sorted { left, right in
            (left.key.transactionID, left.key.bundleID, left.key.environment.rawValue)
                < (right.key.transactionID, right.key.bundleID, right.key.environment.rawValue)
        }
        self.notices = notices.sorted { $0.notice.id < $1.notice.id }
        self.events = events
        grants = after.grants.values.filter { $0 != before.grants[$0.transactionID] }
            .sorted { $0.transactionID < $1.transactionID }
    }

    func write(in session: PostgresSession) throws {
        guard !notices.isEmpty else { return }
        try session.execute(Self.entering, refundColumns + noticeColumns)
        if !grants.isEmpty {
            try session.execute(
                Self.revoking,
                [
                    .identifiers(grants.lazy.map(\.transactionID)), .timestamps(grants.map(\.revokedAt)),
                    .int4Array(grants.map(\.revision)),
                ])
        }
        if !events.isEmpty { try session.execute(Self.publishing, eventColumns) }
    }

    private var refundColumns: [PostgresParameter] {
        [
            .identifiers(refunds.lazy.map(\.key.transactionID)), .identifiers(refunds.lazy.map(\.key.bundleID)),
            .textArray(refunds.map { $0.key.environment.rawValue }),
            .identifiers(refunds.lazy.map(\.purchase.originalTransactionID)),
            .identifiers(refunds.lazy.map(\.purchase.productID)), .timestamps(refunds.map(\.state.revokedAt)),
            .textArray(refunds.map { $0.state.reason?.rawValue }), .int4Array(refunds.map(\.state.milliPercent)),
            .timestamps(refunds.map(\.state.signedAt)),
        ]
    }

    private var noticeColumns: [PostgresParameter] {
        [
            .identifiers(notices.lazy.map(\.notice.id)), .identifiers(notices.lazy.map(\.notice.transactionID)),
            .identifiers(notices.lazy.map(\.notice.transaction.bundleID)),
            .textArray(notices.map { $0.notice.transaction.environment.rawValue }),
            .textArray(notices.map { $0.notice.change.type.rawValue }), .textArray(notices.map(\.effect)),
            .timestamps(notices.map(\.notice.signedAt)),
        ]
    }

    private var eventColumns: [PostgresParameter] {
        [
            .uuids(events.lazy.map(\.event.eventID)), .textArray(events.map(\.source.topic)),
            .int4Array(events.map(\.source.partition)), .int4Array(events.indices.map { Int32($0) }),
            .identifiers(events.lazy.map(\.event.playerID)), .textArray(events.map(\.source.traceparent)),
            .byteaArray(events.map(\.event.value)),
        ]
    }
}

extension RefundNotice.Change {
    fileprivate var type: StoreNotification.RefundType {
        switch self {
        case .revoked(.revoke, _): .revoke
        case .revoked: .refund
        case .reversed: .reversed
        }
    }
}
