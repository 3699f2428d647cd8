import Fulfillment
import NamesAndTimes
import Postgres

/// A batch of Apple's notifications in one SQL transaction, in the order that decisions keep too: claims are inserted or
/// locked, what is known under them is read by later statements, it is settled, and then written.
struct NoticeBatchWrite: Sendable {
    private static let findingTaken = LedgerSQL.statement(PackageResources.find_notifications_sql)

    let received: [ReceivedNotice]
    let catalog: Catalog

    /// The facts in force after COMMIT.
    struct Written: Sendable {
        /// One for each of `received`.
        let effects: [NoticeEffect]
        /// The events about subscriptions and requests. The outbox has them.
        let events: [OutcomeEvent]
        let history: DatabaseHistory?
    }

    func run(in session: PostgresSession) throws -> Written {
        try session.transaction { session in
            let claims = try lockClaims(in: session)
            let fresh = try fresh(in: session)
            let refunds = fresh.compactMap { index in
                received[index].notice.refund.map { (index, TakenRefund($0, from: received[index])) }
            }
            let settled = try RefundWrite(refunds: refunds.map(\.1), claims: claims, catalog: catalog).run(in: session)
            let effects = effects(fresh, Dictionary(uniqueKeysWithValues: zip(refunds.map(\.0), settled)))
            let events = try enterOthers(fresh, in: session)
            try NoticeRows(fresh.map { (received[$0], effects[$0]) }).write(in: session)
            return Written(effects: effects, events: events, history: try DatabaseHistory.read(in: session))
        }
    }

    /// The claims of what Apple names, and those that grants and holds are under: a claim of nobody where there is none.
    private func lockClaims(in session: PostgresSession) throws -> [StoreTransactionID: LedgerView.Claim] {
        var bundles: [StoreTransactionID: BundleID] = [:]
        for one in received {
            guard let bundle = one.notice.bundleID else { continue }
            for original in one.notice.originals { bundles[original] = bundle }
        }
        let transactions = Set(received.compactMap(\.notice.transactionID)).sorted()
        let sorted = try FindOriginals.run(transactions, in: session).union(bundles.keys).sorted()
        let made = sorted.compactMap { original in
            bundles[original].map { ClaimRow(original: original, player: nil, bundleID: $0, grantedTransaction: nil) }
        }
        let fresh = try InsertClaims.run(made, in: session)
        return try LockClaims.run(sorted.filter { !fresh.contains($0) }, in: session)
    }

    /// Returns the places of those that were not taken before, each once. Under the claims' locks: who takes the same
    /// one at the same time waits for us.
    private func fresh(in session: PostgresSession) throws -> [Int] {
        let rows = try session.execute(Self.findingTaken, [.identifiers(Set(received.map(\.notice.id)).sorted())])
        let notice = try rows.column("notification_id")
        var taken = Set((0..<rows.count).compactMap { rows.text($0, notice).map { Identifier($0) } })
        return received.indices.filter { taken.insert(received[$0].notice.id).inserted }
    }

    private func effects(_ fresh: [Int], _ refunds: [Int: RefundEffect]) -> [NoticeEffect] {
        var effects = received.map { _ in NoticeEffect.duplicate }
        for index in fresh { effects[index] = NoticeEffect(of: received[index].notice, refund: refunds[index]) }
        return effects
    }

    /// Purchases before what they change: a period that is granted belongs to its subscription.
    private func enterOthers(_ fresh: [Int], in session: PostgresSession) throws -> [OutcomeEvent] {
        let notices = fresh.map { received[$0].notice }
        let purchases = notices.compactMap(\.purchase)
        let facts = notices.compactMap(\.fact)
        let requests = notices.compactMap(\.request)
        let now = received.map(\.decidedAt).max() ?? Timestamp(milliseconds: 0)
        var events: [OutcomeEvent] = []
        if !purchases.isEmpty { try AnnouncedWrite.enter(purchases, in: session) }
        if !facts.isEmpty {
            events += try SubscriptionWrite.apply(facts, with: purchases, at: now, catalog: catalog, in: session)
        }
        if !requests.isEmpty {
            events += try RefundRequestWrite.enter(requests, at: now, in: session)
        }
        return events
    }
}
