import BackOffice
import Fulfillment
import Ledger
import Testing

@Suite("The report of granted and revoked units")
struct GrantedUnitsTests {
    @Test("the report of granted units counts production units by purchase and revocation day, in a given time zone")
    func units() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                submission_id, granted_at, revoked_at) VALUES
            -- 23:30 of the 19th in California
            ('1', 'p', 'app', 'gold', 3, 'Production', '2026-11-20T07:30:00Z', 's', now(), NULL),
            ('2', 'p', 'app', 'gold', 2, 'Production', '2026-11-20T08:00:00Z', 's', now(), '2026-11-21T12:00:00Z'),
            ('3', 'p', 'app', 'gold', 9, 'Sandbox', '2026-11-20T12:00:00Z', 's', now(), NULL),
            ('4', 'p', 'other', 'vip', 1, 'Production', NULL, 's', '2026-11-21T09:00:00Z', NULL),
            ('5', 'p', 'app', 'gold', 4, 'Production', '2026-11-22T08:00:00Z', 's', now(), NULL)
            """)
        let days = ReportDay("2026-11-20")...ReportDay("2026-11-21")
        func units(_ zone: String, bundle: String? = nil) async throws -> [String] {
            try await GrantedUnits.of(days, timeZone: zone, bundleID: bundle, in: database.pool).map {
                "\($0.productID) \($0.day.text) +\($0.granted) -\($0.revoked)"
            }
        }
        let california = ["gold 2026-11-20 +2 -0", "gold 2026-11-21 +0 -2"]
        #expect(try await units("America/Los_Angeles") == california + ["vip 2026-11-21 +1 -0"])
        #expect(try await units("America/Los_Angeles", bundle: "app") == california)
        #expect(try await units("UTC", bundle: "app") == ["gold 2026-11-20 +5 -0", "gold 2026-11-21 +0 -2"])
        #expect(try await GrantedUnits.isKnown(timeZone: "America/Los_Angeles", in: database.pool))
        #expect(try await GrantedUnits.isKnown(timeZone: "Mars", in: database.pool) == false)
    }

    @Test(
        "the report of granted units sums money by currency, less revoked shares, and lists unpriced grants separately")
    func money() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                submission_id, granted_at, revoked_at, revoked_units, price_milliunits, currency) VALUES
            ('1', 'p', 'app', 'gold', 1, 'Production', '2026-11-20T12:00:00Z', 's', now(), NULL, NULL, 990, 'USD'),
            ('2', 'p', 'app', 'gold', 4, 'Production', '2026-11-20T12:00:00Z', 's', now(), '2026-11-20T13:00:00Z', 1, 3960,
                'USD'),
            ('3', 'p', 'app', 'gold', 1, 'Production', '2026-11-20T12:00:00Z', 's', now(), NULL, NULL, 120000, 'JPY'),
            ('4', 'p', 'app', 'gold', 1, 'Production', '2026-11-20T12:00:00Z', 's', now(), NULL, NULL, NULL, NULL)
            """)
        let day = ReportDay("2026-11-20")
        let all = try await GrantedUnits.of(day...day, timeZone: "UTC", bundleID: nil, in: database.pool)
        #expect(
            all.map { "\($0.currency ?? "-") +\($0.granted) -\($0.revoked) \($0.milliunits)" } == [
                "JPY +1 -0 120000", "USD +5 -1 3960", "- +1 -0 0",
            ])
    }
}
