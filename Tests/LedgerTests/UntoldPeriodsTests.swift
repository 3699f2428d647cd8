import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

/// Tests periods that become known without a grant, before their own notification or instead of it.
@Suite("Subscription periods that become known without a grant")
struct UntoldPeriodsTests {
    private typealias Subscriptions = FollowedSubscriptionsConformance
    private static let day: Int64 = 86_400_000
    private static let now = Subscriptions.base.adding(milliseconds: 40 * day)

    private struct Subject {
        let database: LedgerDatabase
        let subscriptions: Subscriptions.Subject

        func announcements() -> PostgresAnnouncements {
            PostgresAnnouncements(pool: LedgerDatabase.pool(database.uri), waitSeconds: 900)
        }

        /// Checks a subscription that is due: Apple answers that the period from day 38 is active. Returns false if no
        /// subscription was due.
        func check() async throws -> Bool {
            guard let leased = try await subscriptions.lease().first else { return false }
            _ = try await subscriptions.settle(leased, [Subscriptions.fact(.active, period: 38, at: 40)], at: 40)
            return true
        }

        func deliver() async throws {
            let announcements = announcements()
            let leased = try await announcements.leaseDue(under: Subscriptions.catalog, limit: 10)
            _ = try await announcements.deliver(leased, under: Subscriptions.catalog, at: UntoldPeriodsTests.now)
        }

        func notify(
            _ notices: [StoreNotification], under catalog: Catalog = Subscriptions.catalog
        ) async throws {
            let received = try notices.map { notification in
                guard case .taken(let notice) = notification.verdict(under: catalog, from: .notification)
                else { throw Unexpected() }
                return ReceivedNotice(
                    notice, topic: "n", partition: 0, traceparent: nil, decidedAt: UntoldPeriodsTests.now)
            }
            _ = try await PostgresNotices(pool: database.pool).apply(received, catalog: catalog)
        }

        /// Returns the number of grants of the period from day 38, and the number of those grants that player 1 owns.
        func granted() async throws -> [Int] {
            let count = "SELECT count(*) FROM grants WHERE transaction_id = '100038'"
            return [try await database.number(count), try await database.number(count + " AND player_id = 'player-1'")]
        }
    }

    private struct Unexpected: Error {}

    /// Runs `body` with a subscription of player 1 whose period from day 20 is granted.
    private func with(_ body: (Subject) async throws -> Void) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database: database, subscriptions: Subscriptions.Subject(database, ledger))
        _ = try await subject.subscriptions.grant("1000", original: "1000", at: 20, offset: 1)
        #expect(try await !subject.check())
        try await body(subject)
        await ledger.close()
    }

    private func notification(_ type: String, id: Identifier, at days: Int64 = 39) -> StoreNotification {
        let status = Subscriptions.status(Subscriptions.fact(.active, period: 38, at: days))
        return StoreNotification(
            id: id, type: type, signedAt: status.renewal.signedAt, bundleID: Sample.bundle, environment: .production,
            transaction: .told(status.transaction), renewal: .told(status.renewal))
    }

    @Test(
        "if a rejected submission shows a new period, a worker asks Apple immediately; the owner gets the period once",
        arguments: ["player-2", "player-1"])
    func refused(player: String) async throws {
        try await with { subject in
            // The ledger rejects the other player's period. A rule rejects the owner's period.
            let verdict: JudgedPurchase.Verdict =
                player == "player-1" ? .reject(.bindingMismatch) : .grant(payload: nil)
            for offset in Int64(2)...3 {
                let refused = try await subject.subscriptions.grant(
                    "100038", original: "1000", at: 38, player: player, offset: offset, verdict)
                #expect(refused.granted.isEmpty)
            }
            #expect(try await subject.check())
            try await subject.deliver()
            #expect(try await subject.granted() == [1, 1])
            // The grant and a repeated submission of the period cause no check.
            _ = try await subject.subscriptions.grant(
                "100038", original: "1000", at: 38, player: player, offset: 4, verdict)
            #expect(try await !subject.check())
            try await subject.deliver()
            #expect(try await subject.granted() == [1, 1])
        }
    }

    @Test(
        "if a renewal's notification is lost, another notification of the period makes the subscription's check due",
        arguments: ["DID_CHANGE_RENEWAL_STATUS", "RENEWAL_EXTENDED"])
    func lost(type: String) async throws {
        try await with { subject in
            try await subject.notify([notification(type, id: "n-1")])
            // A repeated announcement does not delay the check.
            try await subject.notify([notification("PRICE_INCREASE", id: "n-2", at: 40)])
            #expect(try await subject.check())
            try await subject.deliver()
            #expect(try await subject.granted() == [1, 1])
            #expect(try await !subject.check())
        }
    }

    @Test("if the renewal's own notification arrives, other notifications of the period cause no request to Apple")
    func brought() async throws {
        try await with { subject in
            try await subject.notify([
                notification("DID_CHANGE_RENEWAL_STATUS", id: "n-1"), notification("DID_RENEW", id: "n-2"),
            ])
            try await subject.deliver()
            try await subject.notify([notification("DID_CHANGE_RENEWAL_STATUS", id: "n-3", at: 40)])
            #expect(try await subject.granted() == [1, 1])
            #expect(try await !subject.check())
        }
    }

    @Test("if a period becomes known before the subscription has a row, the check is due as soon as the row exists")
    func firstTold() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database: database, subscriptions: Subscriptions.Subject(database, ledger))
        try await subject.notify([notification("DID_CHANGE_RENEWAL_STATUS", id: "n-1")])
        #expect(try await !subject.check())
        _ = try await subject.subscriptions.grant("1000", original: "1000", at: 20, offset: 1)
        #expect(try await subject.check())
        try await subject.deliver()
        #expect(try await subject.granted() == [1, 1])
        #expect(try await !subject.check())
        await ledger.close()
    }

    @Test(
        "before any grant, a notification's grace period is stored, whether or not the catalog follows renewals",
        arguments: [AnnouncementPolicy.RenewalPolicy.follow, .off, nil])
    func grace(renewals: AnnouncementPolicy.RenewalPolicy?) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database: database, subscriptions: Subscriptions.Subject(database, ledger))
        // Without a policy, the catalog lacks the app.
        let app = renewals.map { renewals in
            var app = Subscriptions.app()
            app.announcements.renewals = renewals
            return app
        }
        var told = notification("DID_FAIL_TO_RENEW", id: "n-1")
        let end = Self.now.adding(milliseconds: 16 * Self.day)
        var renewal = Subscriptions.status(Subscriptions.fact(.gracePeriod, period: 38, at: 39)).renewal
        renewal.graceExpiresAt = end
        told.renewal = .told(renewal)
        try await subject.notify([told], under: Catalog(version: 1, apps: [app].compactMap(\.self)))
        let known = try await subject.subscriptions.subscriptions.told(of: "1000")
        #expect(known?.graceExpiresAt == end)
        #expect(try await subject.subscriptions.known("1000") == nil)
        #expect(try await subject.subscriptions.subscriptions.told(of: "2000") == nil)
        await ledger.close()
    }

    @Test(
        "if Apple revokes a subscription that the catalog does not follow, the owner's check is due immediately",
        arguments: [AnnouncementPolicy.RenewalPolicy.off, nil])
    func ended(renewals: AnnouncementPolicy.RenewalPolicy?) async throws {
        try await with { subject in
            // Without a policy, the catalog lacks the app.
            let app = renewals.map { renewals in
                var app = Subscriptions.app()
                app.announcements.renewals = renewals
                return app
            }
            try await subject.notify([revocation()], under: Catalog(version: 1, apps: [app].compactMap(\.self)))
            let leased = try #require(try await subject.subscriptions.lease().first)
            #expect(try await subject.subscriptions.settle(leased, [], at: 40).map(\.kind) == [.subscriptionChanged])
            #expect(try await subject.subscriptions.known("1000")?.state == .revoked)
            #expect(try await subject.database.number("SELECT count(*) FROM unowned_subscriptions") == 0)
        }
    }

    private func revocation() -> StoreNotification {
        let status = Subscriptions.status(Subscriptions.fact(.revoked, period: 20, at: 39))
        var told = StoreNotification(
            id: "n-1", type: "REVOKE", signedAt: status.renewal.signedAt, bundleID: Sample.bundle,
            environment: .production, transaction: .told(status.transaction), renewal: .told(status.renewal))
        told.state = .revoked
        return told
    }

    @Test("a notification for an app outside the catalog makes no check of an erased player's subscription due")
    func erased() async throws {
        try await with { subject in
            var random = SystemRandomNumberGenerator()
            let erasure = PlayerErasure(of: "player-1", in: subject.database.pool)
            _ = try await erasure.run(pseudonym: Pseudonym.make(using: &random), by: "ann")
            try await subject.notify([revocation()], under: Catalog(version: 1, apps: []))
            #expect(try await subject.database.number("SELECT count(*) FROM subscriptions") == 1)
            #expect(try await subject.database.number("SELECT count(due_at) FROM subscriptions") == 0)
        }
    }
}
