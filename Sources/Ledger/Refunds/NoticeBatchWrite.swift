import Fulfillment
import NamesAndTimes
import Postgres

/// Writes a batch of Apple's notifications in one SQL transaction, in the same order as a batch of decisions. It
/// inserts or locks the claims, reads the rows under them in later statements, settles, and writes.
struct NoticeBatchWrite: Sendable {
    private static let findingTaken = LedgerSQL.statement(PackageResources.find_notifications_sql)

    let received: [ReceivedNotice]
    let catalog: Catalog

    /// The result of a committed batch.
    struct Written: Sendable {
        /// The effects, one for each of `received`.
        let effects: [NoticeEffect]
        /// The events about subscriptions and refund requests, which are in the outbox.
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

    /// Locks the claims of the originals that Apple names, and the claims of the transactions' grants and holds.
    /// Inserts a missing claim, without an owner.
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

    /// Returns the indexes of notifications that no replica has stored before, each notification once. Another replica
    /// that processes the same notification now waits for the claims' locks.
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

    /// Inserts the announced purchases, then the facts about subscriptions, then the refund requests. Returns the
    /// events.
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
