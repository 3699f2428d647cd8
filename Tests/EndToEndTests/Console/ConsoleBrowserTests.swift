import Foundation
import Fulfillment
import TestSupport
import Testing

@testable import Demo

@Suite("The console in a browser", .serialized, .wholeSystem)
struct ConsoleBrowserTests {
    private static let views = [
        ("traffic", "/"), ("traffic-month", "/?span=month"), ("held", "/held"), ("parked", "/parked"),
        ("unclaimed", "/unclaimed"), ("dead-letters", "/dead-letters"), ("subscriptions", "/subscriptions"),
        ("refunds", "/refunds"), ("search", "/search?q=9901"), ("search-long", "/search?q=2000001234567891"),
        ("nothing", "/search?q=nobody"),
        ("dead-letters-filtered", "/dead-letters?reason=too_large"),
        ("confirm-unclaimed", "/confirm?change=retry-unclaimed"), ("confirm", "/confirm?change=reject-held"),
        ("confirm-picked", "/confirm?change=release&picked=1&pick-0=9910&pick-1=2000001234567891"),
        ("changes", "/changes"), ("sessions", "/sessions"), ("not-found", "/nothing"),
    ]

    private func signIn(_ browser: Browser, _ console: String, _ name: String, _ password: String) async throws {
        try await browser.open(console + "/sign-in")
        try await browser.type(name, into: "#name")
        try await browser.type(password, into: "#password")
        try await browser.click("main button")
        try await eventually("signed in") { try await browser.source.contains("id=\"q\"") }
    }

    /// Fills the lists with rows of very long values. These are three similar holds of one player, and one row in each
    /// other list.
    private static func fillLong(_ bed: ParkingBed) async throws {
        _ = try await bed.number(
            """
            INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason, submission_key,
                submission_id, environment, quantity, purchased_at, catalog_version, held_at, source_topic, source_partition,
                source_offset, source_timestamp, waived, note, evidence)
            SELECT id, id, 'b4f0c7d2-5a0e-4c1f-9d7e-2f6a8c3b1e90', 'com.example.castle', 'com.example.castle.season.pass.9',
                'account_token_mismatch', gen_random_uuid(), 's-' || n, 'Production', 1, now() - n * interval '5 hours', 1000000,
                now() - n * interval '4 hours', 't', 0, 100 + n, now(), '{}', 'Apple has refunded it',
                convert_to(format('{"bundle":"com.example.castle","environment":"Production","purchases":[{"id":"%s",'
                    '"product":"com.example.castle.season.pass.9","quantity":1,"purchased":1795167000000,"currency":"EUR",'
                    '"price":%s}]}', id, 4990 + 1000 * n), 'UTF8')
            FROM (SELECT n, (2000001234567890 + n)::text AS id FROM generate_series(1, 3) AS n) AS made
            RETURNING 1::int8
            """)
        _ = try await bed.number(
            """
            INSERT INTO parked (id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id,
                player_id, bundle_id, proof, reason, detail)
            VALUES (gen_random_uuid(), 't', 0, 200, now(), gen_random_uuid(), 'a1f0c7d2-5a0e-4c1f-9d7e-2f6a8c3b1e90',
                'b4f0c7d2-5a0e-4c1f-9d7e-2f6a8c3b1e90', 'com.example.castle', sha256('p'), 'blocked_shared_secret',
                'verifyReceipt answered 21004 for the shared secret of this app')
            RETURNING 1::int8
            """)
        _ = try await bed.number(
            """
            WITH refunded AS (
                INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, signed_at)
                SELECT transaction_id, bundle_id, environment, original_transaction_id, product_id, now() FROM grants
            ), letter AS (
                INSERT INTO local_refusals (event_id, submission_id, player_id, reason, detail_code, detail, occurred_at)
                VALUES (gen_random_uuid(), 'receipt-submissions/0/42', 'b4f0c7d2-5a0e-4c1f-9d7e-2f6a8c3b1e90', 'malformed_message',
                    'not_json', 'The record is not a submission: it is no JSON. The dead-letter topic has it.', now())
            )
            INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, expires_at,
                grace_expires_at, environment, revision, updated_at, period_began_at, will_renew, renewal_product_id)
            VALUES ('2000001234567899', 'b4f0c7d2-5a0e-4c1f-9d7e-2f6a8c3b1e90', 'com.example.castle',
                'com.example.castle.season.pass.9', 'grace_period', now() - interval '1 day', now() + interval '15 days',
                'Production', 2, now(), now() - interval '31 days', true, 'com.example.castle.season.pass.10')
            RETURNING 1::int8
            """)
    }

    @Test(
        "each page of the console fits three window widths, light and dark, without layout or accessibility faults",
        .takesLong)
    func views() async throws {
        try await ParkingBed.run { bed in
            try await ConsoleTests.fill(bed)
            try await ConsoleListTests.fillUnclaimed(bed)
            try await Self.fillLong(bed)
            _ = try await bed.number(
                """
                INSERT INTO traffic_minutes (began_at, kind, name, count)
                SELECT date_trunc('minute', now()) - n * interval '1 minute', kind, name, (share * (30 + n % 7))::int8 + 1
                FROM generate_series(1, 59) AS n, (VALUES ('class', 'foreign', 79), ('class', 'junk', 6), ('class', 'forged', 3),
                    ('class', 'repeat', 1), ('class', 'unverifiable', 1), ('class', 'genuine', 10),
                    ('outcome', 'receipt.rejected foreign_app', 79), ('outcome', 'receipt.granted', 10),
                    ('dead_letter', 'too_large', 1), ('apple', 'verifyReceipt production ok', 12),
                    ('apple_seconds', '0.1', 8), ('apple_seconds', '0.5', 3), ('apple_seconds', '+Inf', 1))
                    AS counted (kind, name, share)
                ON CONFLICT DO NOTHING RETURNING 1::int8
                """)
            let console = "http://127.0.0.1:\(try await ConsoleTests.start(in: bed))"
            for (width, isDark) in [(1_152, false), (1_440, true), (390, false), (390, true)] {
                let kind = "\(width)\(isDark ? "-dark" : "")"
                try await Browser.run(width: width, isDark: isDark) { browser in
                    try await browser.open(console + "/sign-in")
                    #expect(try await browser.graveFaults() == [], "sign-in at \(kind)")
                    try await browser.picture("sign-in-\(kind)")
                    try await signIn(browser, console, "ann", "a right: password")
                    for (name, path) in Self.views {
                        try await browser.open(console + path)
                        #expect(try await browser.graveFaults() == [], "\(name) at \(kind)")
                        #expect(try #require(try await browser.contentWidth) <= width, "\(name) at \(kind)")
                        #expect(try await browser.layoutFaults() == [], "\(name) at \(kind)")
                        try await browser.picture("\(name)-\(kind)")
                    }
                    let paper =
                        try await browser.evaluate("return getComputedStyle(document.body).backgroundColor") as? String
                    #expect(paper == (isDark ? "rgb(20, 23, 27)" : "rgb(255, 255, 255)"))
                    let asked = try await browser.requests
                    #expect(
                        asked?.allSatisfy { $0.hasPrefix(console) } == true,
                        "no request leaves the host: \(asked ?? [])")
                }
            }
        }
    }

    @Test("without JavaScript an operator signs in, filters and decides; the console shows HTML in a player id as text")
    func withoutScripts() async throws {
        try await ParkingBed.run { bed in
            try await ConsoleTests.fill(bed)
            let console = "http://127.0.0.1:\(try await ConsoleTests.start(in: bed))"
            try await Browser.run(width: 390, runsScripts: false) { browser in
                try await browser.open(console + "/held")
                #expect(try await browser.address.contains("/sign-in?next="))
                try await browser.type("ann", into: "#name")
                try await browser.type("a right: password", into: "#password")
                try await browser.click("main button")
                try await eventually("signed in, at the page that was wanted") {
                    try await browser.address == console + "/held"
                }
                #expect(try await browser.text("table").contains(ConsoleTests.hostile))
                try await browser.click("option[selected], #reason option:nth-child(2)")
                try await browser.click(".filter button")
                try await eventually("it is filtered") { try await browser.address.contains("reason=") }
                try await browser.open(console + "/held")
                try await browser.click("a[aria-label^='Release 9910 ']")
                #expect(try await browser.text("h1") == "Release 1 held transaction?")
                try await browser.click("main form button")
                try await eventually("it is released") { try await browser.address.contains("/changes?made=") }
                #expect(try await browser.text("[role=status]").contains("1 released"))
                try await bed.until("it is granted") { bed.answers("p-held-1").contains("receipt.granted") }
                try await browser.open(console + "/held")
                try await browser.click("input[aria-label^='Select 9911 ']")
                try await browser.click("button[value='reject-held']")
                #expect(try await browser.text("h1") == "Reject 1 held transaction for good?")
                #expect(try await browser.text("table").contains("p-held-2"))
                try await browser.open(console + "/held")
                try await browser.click(".actions .danger")
                #expect(try await browser.text("h1") == "Reject 2 held transactions for good?")
                try await browser.click("main form button")
                try await eventually("they are rejected") {
                    try await browser.address.contains("/changes?made=")
                }
                #expect(try await browser.text("[role=status]").contains("2 rejected"))
                try await ConsoleListTests.fillUnclaimed(bed)
                try await browser.open(console + "/unclaimed?reason=crashed")
                try await browser.click(".actions .button")
                #expect(try await browser.text("h1") == "Retry 2 unclaimed purchases now?")
                try await browser.click("main form button")
                try await eventually("they are due") { try await browser.address.contains("/changes?made=") }
                #expect(try await browser.text("[role=status]").contains("2 due now"))
                // There are no dead letters, so the filter offers only the reason in the address.
                try await browser.open(console + "/dead-letters?reason=bad_signature")
                try await browser.click("#reason option:nth-child(1)")
                try await browser.click(".filter button")
                try await eventually("any reason is asked for") {
                    let address = try await browser.address
                    return address.contains("/dead-letters?") && !address.contains("bad_signature")
                }
                try await browser.type(ConsoleTests.hostile, into: "#q")
                try await browser.click(".search button")
                try await eventually("what is known of it") { try await browser.address.contains("/search?q=") }
                #expect(try await browser.text("main").contains("was refused by operator ann"))
                #expect(try await browser.text("h1").contains(ConsoleTests.hostile))
            }
        }
    }

    @Test("with the keyboard alone an operator signs in to the console, searches for a grant, and revokes the grant")
    func keyboard() async throws {
        try await ParkingBed.run { bed in
            try await ConsoleTests.fill(bed)
            let console = "http://127.0.0.1:\(try await ConsoleTests.start(in: bed))"
            try await Browser.run { browser in
                func go(to selector: String) async throws {
                    for _ in 0..<60 {
                        try await browser.press(Key.tab)
                        let isThere =
                            try await browser.evaluate(
                                "return document.activeElement.matches(\"\(selector)\")") as? Bool
                        if isThere == true { return }
                    }
                    throw Browser.Fault(description: "Tab does not lead to \(selector)")
                }
                try await browser.open(console + "/sign-in")
                try await go(to: "#name")
                try await browser.press("ann")
                try await go(to: "#password")
                try await browser.press("a right: password" + Key.enter)
                try await eventually("signed in") { try await browser.address == console + "/" }
                try await go(to: "#q")
                try await browser.press("9901" + Key.enter)
                try await eventually("what is known of it") { try await browser.address.contains("/search?q=9901") }
                try await go(to: "a[aria-label='Revoke 9901']")
                try await browser.press(Key.enter)
                try await eventually("it asks") { try await browser.address.contains("/confirm") }
                try await go(to: "#note")
                try await browser.press("chargeback")
                try await go(to: "main form button")
                try await browser.press(Key.enter)
                try await eventually("it is done") { try await browser.address.contains("/changes?made=") }
                try await bed.until("it is revoked") {
                    bed.answers("p-granted") == ["receipt.granted", "receipt.revoked revoked_by_operator"]
                }
                #expect(try await browser.text("table").contains("chargeback"))
            }
        }
    }
}
