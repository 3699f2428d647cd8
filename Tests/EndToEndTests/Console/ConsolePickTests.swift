import TestSupport
import Testing

@testable import Demo

@Suite("Picked and filtered rows of the console, end to end", .wholeSystem)
struct ConsolePickTests {
    private static let entries =
        "SELECT concat_ws('|', change, subject, shown, note, result) FROM console_changes ORDER BY subject"

    @Test(
        "one confirmation in the console decides all picked rows with one note; a form without picked rows is refused")
    func picking() async throws {
        try await ParkingBed.run { bed in
            try await ConsoleTests.fill(bed)
            let port = try await ConsoleTests.start(in: bed)
            let rob = try await ConsoleClient.signedIn(port: port, "rob", "another")
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            #expect(try await !rob.get("/held").body.contains("pick"))
            let list = try await ann.get("/held").body
            #expect(list.contains("Select 9910") && list.contains("Release selected"))
            let picked = "change=reject-held&picked=1"
            #expect(try await ann.get("/confirm?\(picked)").status == 400)
            #expect(try await ann.get("/confirm?\(picked)&pick-0=").status == 400, "an empty id is never all")
            #expect(try await rob.get("/confirm?\(picked)&pick-0=9910").status == 403)
            let address = "/confirm?\(picked)&pick-0=9910&pick-7=9912&pick-8=9912"
            let page = try await ann.get(address)
            #expect(page.body.contains("Reject 2 held transactions for good?"))
            #expect(page.body.contains("p-held-1") && page.body.contains("&lt;script&gt;alert(1)"))
            #expect(!page.body.contains("p-held-2"))
            let form = ["change": "reject-held", "picked": "1", "shown": "2", "token": page.token ?? ""]
            #expect(try await ann.post("/change", form).status == 400)
            let others = form.merging(["pick-0": "9910", "pick-1": "9911", "found": "1:0,1:0"]) { $1 }
            #expect(try await ann.post("/change", others).status == 409, "others wait than were shown")
            #expect(try await bed.number("SELECT count(*) FROM holds") == 3)
            let release = try await ann.get("/confirm?change=release&id=9911")
            _ = try await bed.rows(
                "UPDATE holds SET reason = 'kind_mismatch' WHERE transaction_id = '9911' RETURNING ''")
            #expect(try await ann.post("/change", release.form).status == 409, "the hold has another reason now")
            let made = try await ann.confirm(address, note: "T-7").body
            #expect(made.contains("Reject (held) of 9910: 1 rejected") && made.contains("(held) of 9912: 1 rejected"))
            try await bed.until("they are rejected") {
                ["p-held-1", ConsoleTests.hostile].allSatisfy {
                    bed.answers($0).last == "receipt.rejected refused_by_operator"
                }
            }
            #expect(try await bed.rows("SELECT transaction_id FROM holds") == ["9911"])
            let parked = "/confirm?change=reject-parked&picked=1&pick-0=p-parked"
            #expect(try await ann.confirm(parked, note: "T-8").body.contains("1 rejected"))
            let entries = try await bed.rows(Self.entries)
            #expect(
                entries == [
                    "reject-held|9910|1|T-7|1 rejected", "reject-held|9912|1|T-7|1 rejected",
                    "reject-parked|p-parked|1|T-8|1 rejected",
                ])
        }
    }

    @Test("a console list's filter by player, product or age also limits a change; the stored change names no player")
    func filtering() async throws {
        try await ParkingBed.run { bed in
            try await bed.kill(ConsoleTests.fill(bed))
            try await ConsoleListTests.fillUnclaimed(bed)
            let ann = try await ConsoleClient.signedIn(
                port: try await ConsoleTests.start(in: bed), "ann", "a right: password")
            _ = try await bed.number(
                """
                UPDATE holds SET held_at = held_at - interval '2 days' WHERE transaction_id IN ('9911', '9912') RETURNING 1::int8
                """)
            func count(_ path: String) async throws -> String? {
                try await ann.get(path).body.firstMatch(of: /<span id="count">(\d+) in all/).map { String($0.output.1) }
            }
            #expect(try await count("/held?player=p-held-2") == "1")
            #expect(try await count("/held?product=com.example.castle.comet.1") == "3")
            #expect(try await count("/held?product=com.example.castle.comet") == "0")
            #expect(try await count("/held?age=over-day") == "2")
            #expect(try await count("/held?age=over-day&player=p-held-1") == "0")
            #expect(try await count("/parked?player=p-parked") == "1")
            #expect(try await count("/parked?age=over-hour") == "0")
            #expect(try await count("/unclaimed?product=com.example.castle.gems.100") == "4")
            for path in [
                "/held?age=under-day", "/held?age=1", "/parked?product=x", "/unclaimed?player=x", "/held?player=%00",
            ] {
                #expect(try await ann.get(path).status == 400, "\(path)")
                #expect(
                    try await ann.get("/confirm?change=release&" + path.drop { $0 != "?" }.dropFirst()).status < 500)
            }
            #expect(try await ann.get("/confirm?change=retry&product=x").status == 400, "never all")
            let unclaimed = try await ann.get("/unclaimed").body
            #expect(
                unclaimed.contains("<option value=\"crashed\">")
                    && !unclaimed.contains("<option value=\"unknown_app\">"))
            #expect(unclaimed.contains("<option value=\"com.example.castle\">"))
            let old = "/confirm?change=reject-held&age=over-day&player=p-held-2&product=com.example.castle.comet.1"
            #expect(
                try await ann.get(old).body.contains(
                    "player p-held-2, product com.example.castle.comet.1, over a day old"))
            #expect(try await ann.confirm(old).body.contains("1 rejected"))
            let entered = "reject-held|one player's, product com.example.castle.comet.1, over a day old|1|1 rejected"
            #expect(try await bed.rows(Self.entries) == [entered])
            #expect(try await bed.rows("SELECT transaction_id FROM holds ORDER BY 1") == ["9910", "9912"])
            // No worker runs, so a released hold stays in the list.
            _ = try await ann.confirm("/confirm?change=release&id=9910")
            let held = try await ann.get("/held").body
            #expect(held.contains("aria-label=\"Release 9912 ") && !held.contains("aria-label=\"Release 9910 "))
            #expect(held.contains("aria-label=\"Reject 9910 "))
            let rest = try await ann.get("/confirm?change=release").body
            #expect(rest.contains("Release 1 held transaction?") && rest.contains(">9912<") && !rest.contains(">9910<"))
        }
    }
}
