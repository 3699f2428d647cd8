import Fulfillment
import Postgres

/// A batch of Apple's refunds in one SQL transaction, in the order that decisions keep too: claims are inserted or
/// locked, what is known under them is read by later statements, it is settled, and then written.
struct RefundBatchWrite: Sendable {
    private static let findingOriginals = LedgerSQL.statement(PackageResources.find_originals_sql)
    private static let findingStates = LedgerSQL.statement(PackageResources.find_refund_states_sql)
    private static let findingNotices = LedgerSQL.statement(PackageResources.find_refund_notices_sql)
    private static let lockingGrants = LedgerSQL.statement(PackageResources.lock_grants_sql)

    let received: [ReceivedNotice]
    let catalog: Catalog

    /// One for each of `received`, after COMMIT.
    func run(in session: PostgresSession) throws -> (effects: [RefundEffect], history: DatabaseHistory?) {
        try session.transaction { session in
            let claims = try lockClaims(in: session)
            var view = try look(under: claims, in: session)
            let before = view
            let effects = received.map { $0.notice.settle(in: &view, at: $0.decidedAt, catalog: catalog) }
            let rows = RefundRows(received: received, effects: effects, before: before, after: view)
            try rows.write(in: session)
            return (effects, try DatabaseHistory.read(in: session))
        }
    }

    private var transactions: [StoreTransactionID] { Set(received.map(\.notice.transactionID)).sorted() }

    /// The claims of what Apple names, and those that grants and holds are under: a claim of nobody where there is none.
    private func lockClaims(in session: PostgresSession) throws -> [StoreTransactionID: LedgerView.Claim] {
        var bundles: [StoreTransactionID: BundleID] = [:]
        for one in received { bundles[one.notice.originalTransactionID] = one.notice.transaction.bundleID }
        let known = try session.execute(Self.findingOriginals, [.identifiers(transactions)])
        var originals = Set(bundles.keys)
        let column = try known.column("original_transaction_id")
        for row in 0..<known.count {
            if let original = known.text(row, column) { originals.insert(Identifier(original)) }
        }
        let sorted = originals.sorted()
        let made = sorted.compactMap { original in
            bundles[original].map { ClaimRow(original: original, player: nil, bundleID: $0, grantedTransaction: nil) }
        }
        let fresh = try InsertClaims.run(made, in: session)
        return try LockClaims.run(sorted.filter { !fresh.contains($0) }, in: session)
    }

    private func look(
        under claims: [StoreTransactionID: LedgerView.Claim], in session: PostgresSession
    ) throws -> RefundView {
        var view = RefundView()
        let states = try session.execute(Self.findingStates, [.identifiers(transactions)])
        view.states = try Self.states(states)
        let taken = try session.execute(
            Self.findingNotices, [.identifiers(Set(received.map(\.notice.id)).sorted())])
        let notice = try taken.column("notification_id")
        view.taken = Set((0..<taken.count).compactMap { taken.text($0, notice).map { Identifier($0) } })
        let wanted = Set(transactions).union(claims.values.compactMap(\.grantedTransaction)).sorted()
        let grants = try session.execute(Self.lockingGrants, [.identifiers(wanted)])
        let columns = try GrantColumns(grants)
        for row in 0..<grants.count {
            guard let grant = GrantedPurchase(grants, row, columns) else { continue }
            view.grants[grant.transactionID] = grant
            if grants.bool(row, columns.isNonConsumable) == true, let original = grant.originalTransactionID,
                claims[original]?.grantedTransaction == grant.transactionID
            {
                view.grantedUnder[original] = grant.transactionID
            }
        }
        return view
    }

    private static func states(_ rows: PostgresRows) throws -> [RefundKey: RefundView.State] {
        let (transactions, bundles) = (try rows.column("transaction_id"), try rows.column("bundle_id"))
        let environments = try rows.column("environment")
        let (signed, revoked) = (try rows.column("signed_at"), try rows.column("revoked_at"))
        let (reason, share) = (try rows.column("reason"), try rows.column("refunded_milli_percent"))
        var states: [RefundKey: RefundView.State] = [:]
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, transactions), let bundle = rows.text(row, bundles),
                let environment = rows.text(row, environments).flatMap(StoreEnvironment.init(rawValue:)),
                let signedAt = rows.timestamp(row, signed)
            else { continue }
            let key = RefundKey(
                transactionID: Identifier(transaction), bundleID: Identifier(bundle), environment: environment)
            states[key] = RefundView.State(
                signedAt: signedAt, revokedAt: rows.timestamp(row, revoked),
                reason: rows.text(row, reason).flatMap(Reason.init(rawValue:)),
                milliPercent: rows.int4(row, share).flatMap { Int32(exactly: $0) })
        }
        return states
    }
}
