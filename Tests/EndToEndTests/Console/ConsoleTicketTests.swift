import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

/// Answers the questions of support's tickets in Chromium. One search must answer each ticket.
@Suite("Support tickets in the console", .serialized, .wholeSystem)
struct ConsoleTicketTests {
    /// The id that each ticket searches for, the expected state, and a part of the expected answer.
    private static let tickets = [
        ("9901", "granted", "was granted to player p-granted"),
        ("p-junk", "refused: malformed_receipt", "without asking Apple"),
        ("9910", "held: unknown_product", "waits for an operator's decision"),
        ("p-parked", "waits for Apple", "Tell the player: We are waiting for Apple"),
        ("9931", "granted, 3 of 10 taken back", "3 of 10 were taken back"),
        ("p-other", "refused: owned_by_other_player", "It contains transaction 9901"),
        ("9941", "subscribed: in grace", "Update the payment method"),
        ("nobody-knows", "not found", "Check the id"),
        ("MK5TTTVWJ3", "Apple's order number", "receiptd inspect --apple-order MK5TTTVWJ3"),
        ("s-letter", "refused: malformed_submission", "is not a submission"),
        ("p-nobody", "player", "1 refused in the last 2 days"),
    ]

    /// Makes the rows that the tickets are about. Workers write most of these rows, and SQL statements insert the
    /// other rows.
    private static func fill(_ bed: ParkingBed) async throws {
        let worker = try await ConsoleTests.fill(bed)
        try await bed.submit("p-junk", "bm90IGEgcmVjZWlwdA==")
        try await bed.until("it is refused here") { bed.answers("p-junk") == ["receipt.rejected malformed_receipt"] }
        try await bed.submit("p-other", ParkingBed.receipt("9901"))
        try await bed.until("it is another's") { !bed.answers("p-other").isEmpty }
        try await bed.publish("no submission at all", player: "p-nobody")
        try await bed.publish(#"{"submission_id":"s-letter","player_id":"p-letter","bundle_id":7}"#, player: "p-letter")
        try await bed.until("it is a dead letter") { !bed.answers("p-letter").isEmpty }
        // A stopping worker stores its local refusals.
        worker.terminate()
        #expect(try await blocking { worker.wait() } == 0)
        _ = try await bed.number(
            """
            WITH part AS (
                INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity,
                    environment, purchased_at, submission_id, granted_at, revoked_at, revoked_units)
                SELECT '9931', '9931', 'p-part', bundle_id, product_id, 10, environment, purchased_at, 's-part', granted_at,
                    now(), 3
                FROM grants WHERE transaction_id = '9901'
            )
            INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, expires_at,
                grace_expires_at, environment, revision, updated_at, period_began_at)
            VALUES ('9941', 'p-grace', 'com.example.castle', 'com.example.castle.pass', 'grace_period', now() - interval '1 day',
                now() + interval '15 days', 'Production', 2, now(), now() - interval '31 days')
            RETURNING 1::int8
            """)
    }

    @Test(
        "one search answers each support ticket, on wide and narrow, light and dark pages, without accessibility faults",
        .takesLong)
    func tickets() async throws {
        try await ParkingBed.run { bed in
            try await Self.fill(bed)
            let console = "http://127.0.0.1:\(try await ConsoleTests.start(in: bed))"
            for (width, isDark) in [(1_440, false), (1_440, true), (390, false), (390, true)] {
                let kind = "\(width)\(isDark ? "-dark" : "")"
                try await Browser.run(width: width, isDark: isDark) { browser in
                    try await browser.open(console + "/sign-in")
                    try await browser.type("ann", into: "#name")
                    try await browser.type("a right: password", into: "#password")
                    try await browser.click("main button")
                    try await eventually("signed in") { try await browser.source.contains("id=\"q\"") }
                    for (id, state, words) in Self.tickets {
                        try await browser.open(console + "/search?q=\(id)")
                        #expect(try await browser.text(".badge") == state, "\(id) at \(kind)")
                        #expect(try await browser.text("#verdict").contains(words), "\(id) at \(kind)")
                        #expect(try await browser.graveFaults() == [], "\(id) at \(kind)")
                        #expect(try #require(try await browser.contentWidth) <= width, "\(id) at \(kind)")
                        #expect(try await browser.layoutFaults() == [], "\(id) at \(kind)")
                        try await browser.picture("ticket-\(id)-\(kind)")
                    }
                    try await browser.open(console + "/dead-letters?reason=malformed_message")
                    try await browser.click("td[data-label='Submission or record'] a")
                    #expect(try await browser.text(".badge") == "dead letter: malformed_message", "at \(kind)")
                    for path in ["/search?q=p-held-1x", "/sessions", "/held", "/confirm?change=release&id=9910"] {
                        try await browser.open(console + path)
                        #expect(try await browser.graveFaults() == [], "\(path) at \(kind)")
                        #expect(try #require(try await browser.contentWidth) <= width, "\(path) at \(kind)")
                    }
                }
            }
        }
    }
}
