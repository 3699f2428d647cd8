import Fulfillment
import NamesAndTimes
import PlantedFaults
import Postgres

struct RefundRows {
    private static let entering = LedgerSQL.statement(PackageResources.upsert_refunds_sql)
    private static let publishing = LedgerSQL.statement(PackageResources.insert_refund_events_sql)

    private typealias Refund = (key: RefundKey, state: RefundState, purchase: StorePurchase)

    private let refunds: [Refund]
    /// The notices from notifications, with their effects.
    private let notices: [(id: Identifier, notice: RefundNotice, effect: String)]
    private let grants: [GrantedPurchase]
    private let events: [(event: OutcomeEvent, source: TakenRefund)]

    init(refunds taken: [TakenRefund], effects: [RefundEffect], before: RefundView, after: RefundView) {
        var refunds: [RefundKey: Refund] = [:]
        var notices: [(id: Identifier, notice: RefundNotice, effect: String)] = []
        var events: [(event: OutcomeEvent, source: TakenRefund)] = []
        for (one, effect) in zip(taken, effects) where effect != .duplicate {
            if let id = one.notice.id { notices.append((id, one.notice, effect.name)) }
            if case .published(let event) = effect { events.append((event, one)) }
            let isForgotten =
                PlantedFault.earlyRefundForgotten.isPlanted && after.grants[one.notice.transactionID] == nil
            if isForgotten { continue }
            let purchase = one.notice.transaction.purchase
            if let state = after.states[one.notice.key], state != before.states[one.notice.key] {
                refunds[one.notice.key] = (one.notice.key, state, purchase)
            }
            if let key = one.notice.originalKey, let state = after.states[key], state != before.states[key] {
                refunds[key] = (key, state, purchase)
            }
            guard let period = one.notice.period else { continue }
            // All transaction ids of the period have the same state. The original of another id is in that id's row or
            // comes from that id's own notice.
            for (key, state) in after.states where state.period == period && state != before.states[key] {
                refunds[key] = (key, state, refunds[key]?.purchase ?? purchase)
            }
        }
        self.refunds = refunds.values.sorted { left, right in
            (left.key.transactionID, left.key.bundleID, left.key.environment.rawValue)
                < (right.key.transactionID, right.key.bundleID, right.key.environment.rawValue)
        }
        self.notices = notices.sorted { $0.id < $1.id }
        self.events = events
        grants = after.grants.values.filter { $0 != before.grants[$0.transactionID] }
            .sorted { $0.transactionID < $1.transactionID }
    }

    func write(in session: PostgresSession) throws {
        if !refunds.isEmpty || !notices.isEmpty {
            try session.execute(Self.entering, refundColumns + noticeColumns + periodColumns)
        }
        try RevokeGrants.run(grants, in: session)
        if !events.isEmpty { try session.execute(Self.publishing, eventColumns) }
    }

    private var refundColumns: [PostgresParameter] {
        [
            .identifiers(refunds.lazy.map(\.key.transactionID)), .identifiers(refunds.lazy.map(\.key.bundleID)),
            .textArray(refunds.map { $0.key.environment.rawValue }),
            .identifiers(refunds.lazy.map(\.purchase.originalTransactionID)),
            .identifiers(refunds.lazy.map(\.purchase.productID)), .timestamps(refunds.map(\.state.revokedAt)),
            .textArray(refunds.map { $0.state.reason?.rawValue }), .int4Array(refunds.map(\.state.storedMilliPercent)),
            .timestamps(refunds.map(\.state.signedAt)),
        ]
    }

    private var periodColumns: [PostgresParameter] {
        [
            .textArray(refunds.map(\.state.storedWords)), .textArray(refunds.map { $0.state.period?.text }),
        ]
    }

    private var noticeColumns: [PostgresParameter] {
        [
            .identifiers(notices.lazy.map(\.id)), .identifiers(notices.lazy.map(\.notice.transactionID)),
            .identifiers(notices.lazy.map(\.notice.transaction.bundleID)),
            .textArray(notices.map { $0.notice.transaction.environment.rawValue }),
            .textArray(notices.map { $0.notice.change.type }), .textArray(notices.map(\.effect)),
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
    /// Apple's name for the notification's type.
    fileprivate var type: String {
        switch self {
        case .revoked(.revoke, _): "REVOKE"
        case .revoked: "REFUND"
        case .reversed: "REFUND_REVERSED"
        }
    }
}
