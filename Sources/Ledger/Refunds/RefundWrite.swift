import Fulfillment
import NamesAndTimes
import Postgres

/// A refund to write, with the topic, partition and trace context for its event.
struct TakenRefund: Sendable {
    let notice: RefundNotice
    let at: Timestamp
    /// The topic of the record that reported the refund.
    let topic: String
    let partition: Int32
    let traceparent: String?

    init(_ notice: RefundNotice, at time: Timestamp, topic: String, partition: Int32, traceparent: String?) {
        self.notice = notice
        at = time
        self.topic = topic
        self.partition = partition
        self.traceparent = traceparent
    }

    init(_ notice: RefundNotice, from received: ReceivedNotice) {
        self.init(
            notice, at: received.decidedAt, topic: received.topic, partition: received.partition,
            traceparent: received.traceparent)
    }
}

/// Writes refunds in the SQL transaction of a notification, or of another answer of Apple that shows a refund.
struct RefundWrite: Sendable {
    private static let findingStates = LedgerSQL.statement(PackageResources.find_refund_states_sql)

    /// The refunds, in the order of settlement. None of their notifications was settled before.
    let refunds: [TakenRefund]
    /// The locked claims of the refunds' originals.
    let claims: [StoreTransactionID: LedgerView.Claim]
    /// The catalog with the payloads of reinstated products.
    let catalog: Catalog

    /// Settles and writes the refunds. Returns one effect for each of `refunds`. Inserts the events into the outbox.
    func run(in session: PostgresSession) throws -> [RefundEffect] {
        guard !refunds.isEmpty else { return [] }
        var view = try look(in: session)
        let before = view
        let effects = refunds.map { $0.notice.settle(in: &view, at: $0.at, catalog: catalog) }
        try RefundRows(refunds: refunds, effects: effects, before: before, after: view).write(in: session)
        return effects
    }

    private func look(in session: PostgresSession) throws -> RefundView {
        var view = RefundView()
        let transactions = Set(refunds.map(\.notice.transactionID))
        // The claims of originals and of periods are locked.
        let stated = transactions.union(claims.keys).union(claims.values.compactMap(\.grantedTransaction)).sorted()
        let periods = claims.keys.filter(PeriodIdentity.isPeriod).sorted()
        try Self.read(
            try session.execute(Self.findingStates, [.identifiers(stated), .identifiers(periods)]), into: &view)
        let wanted = transactions.union(claims.values.compactMap(\.grantedTransaction)).sorted()
        let (grants, columns) = try LockGrants.run(wanted, in: session)
        for row in 0..<grants.count {
            guard let grant = GrantedPurchase(grants, row, columns) else { continue }
            view.grants[grant.transactionID] = grant
            view.lostBefore = grants.timestamp(row, columns.lostBefore)
            if grants.int4(row, columns.toldRevision).map({ $0 < grant.revision }) ?? false {
                view.revisionFloor = grant.revision
            }
            if grants.bool(row, columns.isNonConsumable) == true, let original = grant.originalTransactionID,
                claims[original]?.grantedTransaction == grant.transactionID
            {
                view.grantedUnder[original] = grant.transactionID
            }
        }
        for period in periods {
            guard let transaction = claims[period]?.grantedTransaction, view.grants[transaction] != nil else {
                continue
            }
            view.grantedUnder[period] = transaction
        }
        return view
    }

    private static func read(_ rows: PostgresRows, into view: inout RefundView) throws {
        let (transactions, bundles) = (try rows.column("transaction_id"), try rows.column("bundle_id"))
        let environments = try rows.column("environment")
        let columns = try RefundState.Columns(rows)
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, transactions), let bundle = rows.text(row, bundles),
                let environment = rows.text(row, environments).flatMap(StoreEnvironment.init(rawValue:)),
                let state = RefundState(rows, row, columns)
            else { continue }
            let key = RefundKey(
                transactionID: Identifier(transaction), bundleID: Identifier(bundle), environment: environment)
            view.states[key] = state
        }
    }
}
