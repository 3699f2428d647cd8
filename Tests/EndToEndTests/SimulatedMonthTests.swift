import AppStoreSimulation
import Foundation
import Fulfillment
import Postgres
import Synchronization
import Testing

@testable import Demo

/// Simulates a month of players with whole workers. Clients submit only some of the purchases.
@Suite("A simulated month, end to end", .wholeSystem)
struct SimulatedMonthTests {
    private static let app = ServerApp(
        bundleID: "com.example.month", appleID: 1_450_000_042,
        products: [
            "gems.100": "kind: consumable",
            "gems.1200": "kind: consumable",
            "builder": "kind: non_consumable",
            "vip.week": "kind: auto_renewable_subscription, late_periods: grant",
            "vip.month": "kind: auto_renewable_subscription, late_periods: grant",
        ])
    private static let settings = ServerApp.settings([
        "NOTIFICATION_HISTORY_SECONDS": "2", "MISSED_PURCHASE_SECONDS": "1",
        // A month passes in minutes, so the requests of an hour come within seconds.
        "APPLE_MAX_REQUESTS_PER_SECOND": "1000",
    ])
    /// The length of one simulated day.
    private static let dayMilliseconds = Int64(TestScale.number("MONTH_DAY_MILLISECONDS", or: 1000))
    private static let players = TestScale.number("MONTH_PLAYERS", or: 40)
    /// This many of ten notifications are lost: only Apple's history has them.
    private static let lostOfTen = 3
    /// If many subscriptions end at one time, workers spread their checks over at most this many seconds, which include
    /// a margin.
    private static let longestSpreadSeconds = 720

    private static func plan() -> SimulatedLife.Plan {
        var plan = SimulatedLife.Plan(bundleID: app.bundleID, appAppleID: app.appleID)
        plan.players = players
        plan.dayMilliseconds = dayMilliseconds
        plan.seed = 14
        plan.tokenShare = 1
        plan.familyShare = 0
        return plan
    }

    /// The notifications of the store that the test has not published yet.
    private final class Told: Sendable {
        private let list = Mutex<[SignedNotification]>([])
        func add(_ notification: SignedNotification) { list.withLock { $0.append(notification) } }
        func take() -> [SignedNotification] {
            list.withLock { list in
                defer { list = [] }
                return list
            }
        }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    @Test(
        "after a month with killed workers, every paid purchase is granted, and subscriptions match the App Store",
        .takesLong
    )
    func month() async throws {
        let told = Told()
        func configure(_ options: inout AppStoreSimulation.Options) {
            Self.app.configure(&options)
            options.notified = told.add
        }
        try await ParkingBed.run(options: configure) { bed in
            try await bed.importCatalog(bed.document + Self.app.catalog)
            let summary = try await live(told, in: bed)
            // No subscription renews from now on, so workers will check each subscription whose period ends. The test
            // counts the requests so far.
            let questions = bed.apple.counters.endpoints[SimulatedEndpoint.subscriptions.rawValue] ?? 0
            let seconds = TestScale.seconds(for: Self.players)
            #expect(summary.subscriptions.count > 10 && summary.purchases.count > 50)
            try await bed.until("what was paid is granted", seconds: seconds) {
                try await Self.missing(summary, in: bed).isEmpty
            }
            try await bed.until("what was refunded is revoked", seconds: seconds) {
                try await Self.wrong(summary, in: bed).isEmpty
            }
            do {
                // If Apple announced an end before the subscription had an owner, a worker checks the subscription some
                // minutes later.
                try await bed.until("states are the store's", seconds: seconds + Self.longestSpreadSeconds) {
                    try await Self.differences(summary, in: bed).isEmpty
                }
            } catch {
                let different = try await Self.differences(summary, in: bed).sorted()
                print("differences: \(different.prefix(20))")
                for id in Set(different.compactMap { $0.split(separator: " ").first.map(String.init) }).sorted().prefix(
                    5)
                {
                    print(try await Self.story(of: id, summary, in: bed))
                }
                throw error
            }
            // Workers must ask Apple at most once for every five periods.
            let periods = summary.subscriptions.reduce(0) { $0 + $1.periods.count }
            #expect(questions * 5 <= periods, "\(questions) questions for \(periods) periods")
            try await bed.until("renewals are the store's", seconds: seconds) {
                try await Self.renewing(summary, in: bed).isEmpty
            }
        }
    }

    /// Plays the simulated life, and returns the store's final state. The topic then has all notifications except the
    /// lost ones.
    private func live(_ told: Told, in bed: ParkingBed) async throws -> StoreSummary {
        var worker = try bed.startWorker(Self.settings)
        let start = Self.now()
        var life = bed.apple.inStore { SimulatedLife(Self.plan(), startingAt: start, in: &$0) }
        var count = 0
        var kills = 0
        while let next = life.nextAt {
            try await bed.until("something happens") { next <= Self.now() }
            let happened = bed.apple.inStore { life.advance(to: Self.now(), in: &$0) }
            for bought in happened.compactMap(\.bought) where bought.id.utf8.last.map({ $0 % 4 == 0 }) ?? false {
                try await submit(bought, to: bed)
            }
            for notification in told.take() {
                count += 1
                guard count % 10 >= Self.lostOfTen else { continue }
                try await bed.notify(notification.body)
                if count % 10 == 5 { try await bed.notify(notification.body) }
            }
            if Self.now() - start > Int64(8 * (kills + 1)) * Self.dayMilliseconds, kills < 3 {
                kills += 1
                await bed.kill(worker)
                // The update ends the lease on Apple's history, which would otherwise last two minutes.
                _ = try await bed.number("UPDATE notification_history SET leased_until = '-infinity' RETURNING 1::int8")
                worker = try bed.startWorker(Self.settings)
            }
        }
        return bed.apple.inStore { life.stop(&$0) }
    }

    private func submit(_ bought: StoreTransaction, to bed: ParkingBed) async throws {
        let token = bought.terms.accountToken ?? ""
        try await bed.publish(
            """
            {"submission_id":"s-\(bought.id)","player_id":"\(token)","bundle_id":"\(Self.app.bundleID)",\
            "app_account_token":"\(token)","signed_transaction":"\(try bed.apple.signedTransaction(bought.id))"}
            """, player: token)
    }

    private static func all(_ summary: StoreSummary) -> [StoreSummary.Purchase] {
        summary.purchases + summary.subscriptions.flatMap(\.periods)
    }

    /// Returns the paid purchases that have no grant to their player. Leaves out purchases that were refunded or given
    /// up for another plan, perhaps before the grant.
    private static func missing(_ summary: StoreSummary, in bed: ParkingBed) async throws -> Set<String> {
        let granted = try await bed.rows(
            "SELECT transaction_id || ' ' || player_id FROM grants WHERE revoked_at IS NULL")
        let paid = all(summary).filter { $0.revokedAt == nil && !$0.isUpgraded }
        return Set(paid.map { "\($0.transactionID) \($0.accountToken ?? "")" }).subtracting(granted)
    }

    /// Returns the valid grants of refunded purchases, and of purchases that nobody made.
    private static func wrong(_ summary: StoreSummary, in bed: ParkingBed) async throws -> Set<String> {
        let granted = try await bed.rows("SELECT transaction_id FROM grants WHERE revoked_at IS NULL")
        return Set(granted).subtracting(all(summary).filter { $0.revokedAt == nil }.map(\.transactionID))
    }

    /// Returns the subscriptions that the ledger must have. Leaves out a subscription whose periods were all refunded
    /// before any grant.
    private static func followed(
        _ summary: StoreSummary, in bed: ParkingBed
    ) async throws -> [StoreSummary.Subscription] {
        let granted = Set(try await bed.rows("SELECT DISTINCT original_transaction_id FROM grants"))
        return summary.subscriptions.filter { subscription in
            granted.contains(subscription.originalTransactionID)
                || subscription.periods.contains { $0.revokedAt == nil }
        }
    }

    private static func differences(_ summary: StoreSummary, in bed: ParkingBed) async throws -> Set<String> {
        let kept = try await bed.rows(
            """
            SELECT original_transaction_id || ' ' || player_id || ' ' || product_id || ' ' || state FROM subscriptions
            """)
        let wanted = try await followed(summary, in: bed).map {
            "\($0.originalTransactionID) \($0.accountToken ?? "") \($0.productID) \($0.state.rawValue)"
        }
        return Set(wanted).symmetricDifference(kept)
    }

    /// Returns the data of one subscription in the store and in the ledger, for a person who looks for the difference.
    private static func story(of id: String, _ summary: StoreSummary, in bed: ParkingBed) async throws -> String {
        let wanted = summary.subscriptions.filter { $0.originalTransactionID == id }
        let periods = Set(wanted.flatMap(\.periods).map(\.transactionID))
        let told = bed.apple.notifications().filter { periods.contains($0.transactionID ?? "-") }
            .map { "\($0.id) \($0.type) \($0.subtype ?? "") \($0.transactionID ?? "")" }
        let kept = try await bed.rows("SELECT t::text FROM subscriptions AS t WHERE original_transaction_id = '\(id)'")
        let taken = try await bed.rows(
            "SELECT notification_id || ' ' || type || ' ' || source || ' ' || effect FROM notifications WHERE transaction_id IN (\(periods.map { "'\($0)'" }.joined(separator: ",")))"
        )
        return "store: \(wanted)\ntold: \(told.joined(separator: "\n"))\nkept: \(kept)\ntaken: \(taken)"
    }

    /// Returns the subscriptions whose `will_renew` in the ledger differs from the store.
    private static func renewing(_ summary: StoreSummary, in bed: ParkingBed) async throws -> Set<String> {
        let kept = try await bed.rows(
            "SELECT original_transaction_id || ' ' || coalesce(will_renew::text, 'unknown') FROM subscriptions")
        let wanted = try await followed(summary, in: bed).map { "\($0.originalTransactionID) \($0.willRenew)" }
        return Set(wanted).symmetricDifference(kept)
    }
}
