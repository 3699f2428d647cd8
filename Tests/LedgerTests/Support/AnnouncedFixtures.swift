import Fulfillment
import NamesAndTimes
import Postgres
import TestSupport

@testable import BackOffice
@testable import Ledger

/// A store of announced purchases, in memory or in PostgreSQL, as a test uses it.
struct AnnouncedSubject {
    static let player: PlayerID = "player-1"
    static let token = "1a2b3c4d-0000-4000-8000-000000000001"
    static let period: Int64 = 30 * 86_400_000

    let ledger: any PurchaseLedger
    let holds: any HeldPurchases
    let announced: any AnnouncedPurchases
    let accounts: any PlayerAccounts
    let refunds: any NoticeLedger
    let claims: any PublishedClaims
    /// Enters purchases as a notification does.
    let enter: ([AnnouncedPurchase]) async throws -> Void
    /// Ends every announced purchase's wait for a submission.
    let endPatience: () async throws -> Void
    let setGrantsSince: (Timestamp) async throws -> Void
    /// Releases the hold of a transaction, as an operator does.
    let release: (StoreTransactionID) async throws -> Void
    /// Ends all leases, as if all workers had died long ago.
    let endLeases: () async throws -> Void

    static func with(
        _ implementation: Implementation, _ body: (AnnouncedSubject) async throws -> Void
    ) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(
                AnnouncedSubject(
                    ledger: ledger, holds: ledger, announced: ledger, accounts: ledger, refunds: ledger, claims: ledger,
                    enter: { ledger.announce($0) }, endPatience: { ledger.endPatience() },
                    setGrantsSince: { ledger.setGrantsSince($0, of: Sample.bundle) },
                    release: { ledger.releaseByOperator($0) }, endLeases: { ledger.endAnnouncementLeases() }))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(AnnouncedSubject(database, ledger))
            await ledger.close()
        }
    }

    /// Runs a test in a database that knows the player's token, with an app whose missed purchases receiptd grants.
    static func withPlayer(_ body: (AnnouncedSubject, LedgerDatabase) async throws -> Void) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.tell(isOf: player)
        try await body(subject, database)
        await ledger.close()
    }

    init(
        ledger: any PurchaseLedger, holds: any HeldPurchases, announced: any AnnouncedPurchases,
        accounts: any PlayerAccounts, refunds: any NoticeLedger, claims: any PublishedClaims,
        enter: @escaping ([AnnouncedPurchase]) async throws -> Void,
        endPatience: @escaping () async throws -> Void, setGrantsSince: @escaping (Timestamp) async throws -> Void,
        release: @escaping (StoreTransactionID) async throws -> Void,
        endLeases: @escaping () async throws -> Void
    ) {
        self.ledger = ledger
        self.holds = holds
        self.announced = announced
        self.accounts = accounts
        self.refunds = refunds
        self.claims = claims
        self.enter = enter
        self.endPatience = endPatience
        self.setGrantsSince = setGrantsSince
        self.release = release
        self.endLeases = endLeases
    }

    init(_ database: LedgerDatabase, _ ledger: PostgresLedger) {
        self.init(
            ledger: ledger, holds: PostgresHolds(pool: database.pool),
            announced: PostgresAnnouncements(pool: database.pool, waitSeconds: 900),
            accounts: PostgresPlayerAccounts(pool: database.pool), refunds: PostgresNotices(pool: database.pool),
            claims: PostgresClaims(pool: database.pool),
            enter: { try await Self.enter($0, in: database.pool) },
            endPatience: {
                try await database.run(
                    "UPDATE announced_purchases SET due_at = due_at - interval '1 hour' WHERE state = 'waiting'")
            },
            setGrantsSince: { time in
                try await database.run(
                    """
                    INSERT INTO missed_purchase_grants VALUES ('\(Sample.bundle.text)', '\(time.rfc3339)')
                    ON CONFLICT (bundle_id) DO UPDATE SET since = excluded.since
                    """)
            },
            release: { transaction in
                _ = try await HoldAdministration(pool: database.pool)
                    .release(HoldFilter(id: transaction.text), by: "ann")
            },
            endLeases: {
                try await database.run(
                    """
                    UPDATE announced_purchases SET leased_until = now() - interval '1 second'
                    WHERE leased_until IS NOT NULL
                    """)
            })
    }

    /// Enters purchases in an SQL transaction that first locks their claims, as a notification's does.
    static func enter(_ purchases: [AnnouncedPurchase], in pool: PostgresPool) async throws {
        let originals = Set(purchases.map(\.purchase.originalTransactionID)).sorted()
        try await pool.run { session in
            try session.transaction { session in
                let rows = originals.map {
                    ClaimRow(original: $0, player: nil, bundleID: Sample.bundle, grantedTransaction: nil)
                }
                let fresh = try InsertClaims.run(rows, in: session)
                _ = try LockClaims.run(originals.filter { !fresh.contains($0) }, in: session)
                try AnnouncedWrite.enter(purchases, in: session)
            }
        }
    }

    /// Applies Apple's refund of a consumable, or the reversal of the refund.
    func apply(
        _ change: RefundNotice.Change, of transaction: String, id: Identifier, signedAt: Timestamp = Sample.noon
    ) async throws {
        let notice = RefundNotice(
            id: id, change: change, signedAt: signedAt,
            transaction: NotifiedTransaction(
                purchase: Sample.purchase(transaction), kind: .consumable, bundleID: Sample.bundle,
                environment: .production))
        let received = ReceivedNotice(
            StoreNotice(notice, type: "REFUND", id: id), topic: "n", partition: 0, traceparent: nil,
            decidedAt: Sample.noon)
        _ = try await refunds.apply([received], catalog: Self.catalog())
    }

    static func told(
        _ id: String, original: String? = nil, token: String? = token, source: PurchaseSource = .notification,
        name: String? = nil, environment: StoreEnvironment = .production,
        _ change: (inout StorePurchase) -> Void = { _ in }
    ) throws -> AnnouncedPurchase {
        var purchase = Sample.purchase(id, original: original)
        purchase.appAccountToken = token
        change(&purchase)
        let evidence = GenuineReceipt(bundleID: Sample.bundle, environment: environment, purchases: [purchase])
        let told = AnnouncedPurchase(
            evidence: evidence, source: source, name: Identifier(name ?? "uuid-\(id)"), toldAt: Sample.noon,
            isRenewal: original != nil)
        guard let told else { throw NoPurchase() }
        return told
    }

    private struct NoPurchase: Error {}

    /// Returns a further period of a subscription. The period's end depends on `id`.
    static func renewal(_ id: String, original: String = "5000", token: String? = nil) throws -> AnnouncedPurchase {
        let end = Sample.noon.adding(milliseconds: period + (Int64(id) ?? 0))
        return try told(id, original: original, token: token) {
            $0 = Sample.purchase(id, original: original, product: "pass", expires: end)
        }
    }

    static func catalog(
        _ missed: AnnouncementPolicy.MissedPurchasePolicy = .grant, version: Int64 = 1,
        _ change: (inout AppPolicy) -> Void = { _ in }
    ) -> Catalog {
        var app = AppPolicy(bundleID: Sample.bundle)
        app.announcements.missedPurchases = missed
        app.products = [
            "gold": Product(id: "gold", kind: .consumable), "skin": Product(id: "skin", kind: .nonConsumable),
            "pass": Product(id: "pass", kind: .autoRenewableSubscription),
        ]
        change(&app)
        return Catalog(version: version, apps: [app])
    }

    /// Delivers the purchases that are due, and returns `state reason` of each.
    func deliver(under catalog: Catalog = catalog()) async throws -> [String] {
        let leased = try await announced.leaseDue(under: catalog, limit: 50)
        return try await announced.deliver(leased, under: catalog, at: Sample.noon)
            .sorted { $0.transactionID < $1.transactionID }.map(\.inWords)
    }

    /// Delivers the purchases that are due, and returns their events.
    func events(under catalog: Catalog = catalog()) async throws -> [OutcomeEvent] {
        let leased = try await announced.leaseDue(under: catalog, limit: 50)
        return try await announced.deliver(leased, under: catalog, at: Sample.noon).compactMap(\.event)
    }

    func tell(
        _ token: String = token, isOf player: PlayerID?, offset: Int64 = 0, at time: Timestamp = Sample.noon
    ) async throws {
        let account = PlayerAccount(token: AccountTokenKey(bundleID: Sample.bundle, token: token), player: player)
        _ = try await accounts.apply([ReceivedAccount(account, partition: 0, offset: offset, timestamp: time)])
    }

    func submit(
        _ id: String, original: String? = nil, product: String = "gold", kind: ProductKind = .consumable,
        player: String = "player-1", offset: Int64
    ) async throws -> RecordedOutcome {
        try await ledger.record(
            Sample.decision(
                [Sample.judged(Sample.purchase(id, original: original, product: product), kind)], player: player,
                offset: offset))
    }
}

extension AnnouncedOutcome {
    var inWords: String { ([state.rawValue] + [reason].compactMap(\.self)).joined(separator: " ") }
}
