import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import BackOffice
@testable import Console
@testable import Ledger

@Suite("The console's search page")
struct StandingTests {
    private static let session = Sessions().start(ConsoleUser(name: "ann", mayChange: true), now: 0)

    private func section(_ name: String, _ objects: String...) throws -> Inspection.Section {
        Inspection.Section(name: name, rows: try objects.map { try JSONParser.parse(Array($0.utf8)).value })
    }

    private func grant(_ further: String = "") -> String {
        """
        {"transaction_id":"1","original_transaction_id":"1","player_id":"p","product_id":"gems","quantity":10,\
        "submission_id":"s","purchased_at":"2026-11-27T04:50:00+00:00","granted_at":"2026-11-27T04:52:16.5+00:00"\(further)}
        """
    }

    private func first(_ sections: Inspection.Section...) throws -> Standing {
        try #require(Standings(inspection: Inspection(sections: sections)).all.first)
    }

    @Test(
        "the console offers Revoke for a grant, Reinstate after an operator's revocation, neither after a full refund"
    )
    func grants() throws {
        let stands = try first(section("grants", grant()))
        #expect(stands.state == "granted" && stands.tone == .good)
        #expect(stands.changes.map(\.change) == [.revoke])
        let taken = grant(#","revoked_at":"2026-11-27T05:00:00+00:00","revoked_units":10"#)
        let apples = try first(section("grants", taken))
        #expect(apples.state == "taken back" && apples.sentence.contains("by Apple") && apples.changes.isEmpty)
        let operators = grant(
            #","revoked_at":"2026-11-27T05:00:00+00:00","operator_revoked_at":"2026-11-27T05:00:00+00:00""#)
        let decided =
            #"{"transaction_id":"1","decision":"revoke","operator":"ann","decided_at":"2026-11-27T05:00:00+00:00"}"#
        let own = try first(section("grants", operators), section("grant_decisions", decided))
        #expect(own.sentence.contains("by operator ann") && own.changes.map(\.change) == [.reinstate])
        let part = try first(
            section("grants", grant(#","revoked_at":"2026-11-27T05:00:00+00:00","revoked_units":3"#)))
        #expect(part.state == "granted, 3 of 10 taken back" && part.changes.map(\.change) == [.revoke])
    }

    @Test("the console offers the changes that are possible for a held, parked or unclaimed purchase in its state")
    func waiting() throws {
        let hold = #"{"transaction_id":"2","player_id":"p","product_id":"gems","quantity":1,"reason":"daily_limit""#
        let held = try first(section("holds", hold + "}"))
        #expect(held.state == "held: daily_limit" && held.changes.map(\.change) == [.release, .rejectHeld])
        #expect(!held.sentence.contains("refunded") && held.tone == .warn)
        let refund = #"{"transaction_id":"2","revoked_at":"2026-11-27T05:00:00+00:00","refunded_milli_percent":"#
        let refunded = try first(section("holds", hold + "}"), section("refunds", refund + "null}"))
        #expect(refunded.sentence.contains("Apple refunded it at") && refunded.tone == .bad)
        let part = try first(section("holds", hold + "}"), section("refunds", refund + "30000}"))
        #expect(part.sentence.contains("Apple refunded a part of it at"))
        let released = try first(section("holds", hold + #","released_at":"2026-11-27T05:00:00+00:00"}"#))
        #expect(released.changes.map(\.change) == [.rejectHeld])
        let parked = try first(section("parked", #"{"submission_id":"s","player_id":"p","reason":"apple_trouble"}"#))
        #expect(parked.sentence.contains("Apple gave no usable answer.") && parked.answer.contains("waiting for Apple"))
        #expect(parked.state == "waits for Apple" && parked.changes.map(\.change) == [.retry, .rejectParked])
        let leased = try first(
            section("parked", #"{"submission_id":"s","player_id":"p","reason":"doubt","is_leased":true}"#))
        #expect(leased.changes.map(\.change) == [.rejectParked])
        let blocked = try first(
            section(
                "parked", #"{"submission_id":"s","player_id":"p","reason":"blocked_shared_secret","detail":"21004"}"#))
        #expect(
            blocked.state == "waits for the app's settings" && blocked.sentence.contains("An operator has to correct"))
        #expect(blocked.sentence.contains("Code: blocked_shared_secret, 21004."))
        let unclaimed = try first(
            section("announced", #"{"transaction_id":"3","product_id":"gems","state":"unclaimed","reason":"crashed"}"#))
        #expect(unclaimed.state == "unclaimed: crashed" && unclaimed.changes.map(\.change) == [.retryUnclaimed])
        #expect(unclaimed.sentence.contains("tell an operator"))
        let announced =
            #"{"transaction_id":"1","product_id":"gems","state":"refused","reason":"cancelled","purchased_at":"2026-11-27T04:50:00Z"}"#
        let refused = try first(section("announced", announced))
        #expect(refused.state == "refused: cancelled" && refused.sentence.contains("Nobody had submitted it"))
        let granted = Inspection(sections: [try section("grants", grant()), try section("announced", announced)])
        #expect(Standings(inspection: granted).all.map(\.state) == ["granted"])
        #expect(Timeline(granted).entries.filter { $0.words.contains("Bought from") }.count == 1)
    }

    @Test(
        "the console explains a subscription's grace period and a rejection in words, and escapes stored text as HTML")
    func others() throws {
        let grace = try first(
            section(
                "subscriptions",
                #"{"original_transaction_id":"4","player_id":"p","product_id":"pass","state":"grace_period"}"#))
        #expect(grace.state == "subscribed: in grace" && grace.answer.contains("Update the payment method"))
        let local = #"{"submission_id":"s","player_id":"p","reason":"foreign_app","detail":"Another <app>."}"#
        let refused = try first(section("local_refusals", local))
        #expect(refused.state == "refused: foreign_app" && refused.sentence.contains("Another &lt;app&gt;."))
        let stored =
            #"{"submission_id":"s","player_id":"p","answer":"receipt.rejected","reason":"binding_mismatch","detail":"Send <it>."}"#
        #expect(try first(section("outcomes", stored)).sentence.contains("Send &lt;it&gt;."))
        // An earlier version of receiptd wrote this row, without a detail.
        let bare = #"{"submission_id":"s","player_id":"p","answer":"receipt.rejected","reason":"binding_mismatch"}"#
        #expect(try first(section("outcomes", bare)).sentence.contains("another game account"))
    }

    @Test("a purchase's page in the console shows the state, then the timeline from the oldest entry, then the facts")
    func page() throws {
        let inspection = Inspection(sections: [
            try section("grants", grant(#","revoked_at":"2026-11-28T05:00:00+00:00","revoked_units":10"#))
        ])
        let part = Inspection(sections: [
            try section("grants", grant(#","revoked_at":"2026-11-28T05:00:00+00:00","revoked_units":3"#))
        ])
        #expect(Timeline(part).html.contains("</a>: 3 of 10</span>") && !Timeline(inspection).html.contains(" of 10"))
        let html = InspectionPage(id: "1", days: 2, page: 1, inspection: inspection, session: Self.session).html
        let parts = [
            "badge bad", "class=\"timeline\"", "Bought from Apple", "Granted to player", "Taken back from",
            "class=\"facts\"", "<details>",
        ]
        let places = parts.compactMap { html.firstRange(of: $0)?.lowerBound }
        #expect(places.count == parts.count)
        #expect(places == places.sorted())
        #expect(html.contains("title=\"2026-11-27T04:52:16.500Z\">27 Nov") && html.contains("04:52:16 UTC</time>"))
        #expect(html.contains("/search?q=p\"><span class=\"word\">p</span></a>") && !html.contains("<script"))
    }

    @Test("the console's timeline merges tries with the same result, and shows an event with links after the grant")
    func timeline() throws {
        func asked(_ second: Int, _ milliseconds: Int) -> String {
            #"{"step":"apple","at":"2026-11-27T04:52:1\#(second)Z","detail":"verifyReceipt Production: status 21009, \#(milliseconds) ms"}"#
        }
        let event =
            #"{"step":"receipt.granted","at":"2026-11-27T04:52:16.5Z","detail":"e-1, published; transaction 1; risk <x>"}"#
        let inspection = Inspection(sections: [
            try section("story", event, asked(1, 5), asked(2, 7), asked(3, 9)), try section("grants", grant()),
        ])
        let entries = Timeline(inspection).entries.map(\.words)
        #expect(entries.count == 4)
        #expect(entries[1].hasPrefix("Apple was asked 3 times until <time") && entries[1].contains("status 21009"))
        #expect(entries[2].hasPrefix("Granted to player"))
        #expect(entries[3].contains("event <a href=\"/search?q=e-1\">") && entries[3].contains("risk &lt;x&gt;"))
        #expect(entries[3].contains("transaction <a href=\"/search?q=1\">"))
    }

    @Test("if a player has more holds than the console's page shows, the page counts the rest, and links to the list")
    func waitingOfPlayer() throws {
        let holds = (1...12).map {
            #"{"transaction_id":"\#($0)","player_id":"p","product_id":"gems","quantity":1,"reason":"daily_limit"}"#
        }
        let rows = try holds.map { try JSONParser.parse(Array($0.utf8)).value }
        let inspection = Inspection(sections: [Inspection.Section(name: "holds", rows: rows)])
        let html = InspectionPage(id: "p", days: 2, page: 1, inspection: inspection, session: Self.session).html
        #expect(html.contains("2 more wait: <a href=\"/held?player=p\">all that are held</a>"))
    }

    @Test("a parked submission's page in the console explains the reason, and says what to tell the player")
    func words() throws {
        let row = #"{"submission_id":"s","player_id":"p","reason":"apple_trouble","detail":"status"}"#
        let inspection = Inspection(sections: [try section("parked", row)])
        let html = InspectionPage(id: "s", days: 2, page: 1, inspection: inspection, session: Self.session).html
        #expect(html.contains("Apple answered with a status that decides nothing. receiptd keeps asking."))
        #expect(html.contains("<b>Tell the player:</b> We are waiting for Apple"))
    }

    @Test(
        "for every reason code the console has a sentence for the player that contains no code",
        arguments: Reason.allCases)
    func answers(reason: Reason) {
        #expect(PlayerWords.refused(reason.rawValue).hasSuffix("."))
        #expect(!PlayerWords.refused(reason.rawValue).contains("_"), "no code is for players")
    }

    @Test(
        "the console lists all found purchases in one table, and offers changes only for the one with the searched id"
    )
    func periods() throws {
        let other = grant().replacing(#""transaction_id":"1","original"#, with: #""transaction_id":"2","original"#)
        let inspection = Inspection(sections: [try section("grants", grant(), other)])
        let html = InspectionPage(id: "1", days: 2, page: 1, inspection: inspection, session: Self.session).html
        #expect(!html.contains("<h2>Also found</h2>") && html.contains("Purchases, the latest first (2)"))
        #expect(html.contains("Revoke 1") && !html.contains("Revoke 2"), "the other's button is on its own page")
    }

    @Test("a player's page in the console shows total counts, and links to older and newer pages")
    func player() throws {
        let inspection = Inspection(
            sections: [try section("grants", grant())], totals: ["grants": 3_000])
        let html = InspectionPage(id: "p", days: 2, page: 1, inspection: inspection, session: Self.session).html
        #expect(html.contains("3,000 granted") && html.contains("page=2\">Older</a>"))
        let last = InspectionPage(id: "p", days: 2, page: 30, inspection: inspection, session: Self.session).html
        #expect(!last.contains(">Older</a>") && last.contains("page=29\">Newer</a>"))
    }

    @Test("the console shows a time with its year, and an age in one unit")
    func times() {
        let time = Timestamp(milliseconds: 1_795_755_136_000)
        let now = Timestamp(milliseconds: 1_795_755_136_000 + 3 * 3_600_000)
        #expect(ShownTime.text(time) == "27 Nov 2026 04:52:16 UTC")
        #expect(ShownTime.age(time, now: now) == "3 hours" && ShownTime.age(now, now: time) == "0 seconds")
    }

    @Test("the console lists its sessions from the newest, and ends a session by its number, once")
    func sessions() throws {
        let sessions = Sessions()
        let ann = sessions.start(ConsoleUser(name: "ann", mayChange: true), now: 0)
        let rob = sessions.start(ConsoleUser(name: "rob", mayChange: false), now: 1)
        _ = sessions.start(ConsoleUser(name: nil, mayChange: false), now: 1)
        #expect(sessions.all(now: 2).map(\.number) == [rob.number, ann.number])
        #expect(sessions.end(number: rob.number)?.user.name == "rob")
        #expect(sessions.end(number: rob.number) == nil && sessions.find(rob.id, now: 2) == nil)
        #expect(sessions.all(now: 2).map(\.id) == [ann.id] && sessions.all(now: Sessions.seconds).isEmpty)
    }
}
