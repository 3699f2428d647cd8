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

    /// The claims of what Apple names, and those that grants and holds stand under: a claim of nobody where there is none.
    private func lockClaims(in session: PostgresSession) throws -> [StoreTransactionID: LedgerView.Claim] {
        var bundles: [StoreTransactionID: BundleID] = [:]
        for one in received { bundles[one.notice.originalTransactionID] = one.notice.transaction.bundleID }
        let known = try session.execute(Self.findingOriginals, [.identifiers(transactions)])
        var originals = Set(bundles.keys)
        for row in 0..<known.count {
            if let original = known.text(row, 0) { originals.insert(Identifier(original)) }
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
        for row in 0..<states.count {
            guard let key = RefundKey(states, row), let signedAt = states.timestamp(row, 4) else { continue }
            view.states[key] = RefundView.State(
                signedAt: signedAt, revokedAt: states.timestamp(row, 3),
                reason: states.text(row, 5).flatMap(Reason.init(rawValue:)),
                milliPercent: states.int4(row, 6).flatMap { Int32(exactly: $0) })
        }
        let taken = try session.execute(
            Self.findingNotices, [.identifiers(Set(received.map(\.notice.id)).sorted())])
        view.taken = Set((0..<taken.count).compactMap { taken.text($0, 0).map { Identifier($0) } })
        let wanted = Set(transactions).union(claims.values.compactMap(\.grantedTransaction)).sorted()
        let grants = try session.execute(Self.lockingGrants, [.identifiers(wanted)])
        for row in 0..<grants.count {
            guard let grant = GrantedPurchase(grants, row) else { continue }
            view.grants[grant.transactionID] = grant
            if grants.bool(row, 13) == true, let original = grant.originalTransactionID,
                claims[original]?.grantedTransaction == grant.transactionID
            {
                view.grantedUnder[original] = grant.transactionID
            }
        }
        return view
    }
}

extension RefundKey {
    fileprivate init?(_ rows: PostgresRows, _ row: Int) {
        guard let transaction = rows.text(row, 0), let bundle = rows.text(row, 1),
            let environment = rows.text(row, 2).flatMap(StoreEnvironment.init(rawValue:))
        else { return nil }
        self.init(transactionID: Identifier(transaction), bundleID: Identifier(bundle), environment: environment)
    }
}

extension GrantedPurchase {
    fileprivate init?(_ rows: PostgresRows, _ row: Int) {
        guard let transaction = rows.text(row, 0), let player = rows.text(row, 2), let bundle = rows.text(row, 3),
            let product = rows.text(row, 4), let quantity = rows.int4(row, 5),
            let environment = rows.text(row, 6).flatMap(StoreEnvironment.init(rawValue:)),
            let submission = rows.text(row, 9), let revision = rows.int4(row, 10)
        else { return nil }
        self.init(
            transactionID: Identifier(transaction),
            originalTransactionID: rows.text(row, 1).map { Identifier($0) }, player: Identifier(player),
            bundleID: Identifier(bundle), productID: Identifier(product), quantity: Int32(truncatingIfNeeded: quantity),
            environment: environment, purchasedAt: rows.timestamp(row, 7), expiresAt: rows.timestamp(row, 8),
            submissionID: Identifier(submission), revision: Int32(truncatingIfNeeded: revision),
            revokedAt: rows.timestamp(row, 11), event: rows.bytes(row, 12))
    }
}
