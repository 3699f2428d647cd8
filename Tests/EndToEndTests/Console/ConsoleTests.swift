import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Fulfillment
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

/// Reads and changes rows that workers wrote, over HTTP.
@Suite("The console, end to end", .wholeSystem)
struct ConsoleTests {
    /// The users, with the passwords `a right: password` and `another`, hashed in the fewest rounds, which saves time.
    static let users = """
        ann:operate:$scrypt$ln=10,r=8,p=1$dGVzdHMgb2YgcmVjZWlwdA$uqZrE/gWXH/o/X7xeIhPCju65W1zWHG/O/39QmZycm8
        rob:read:$scrypt$ln=10,r=8,p=1$dGVzdHMgb2YgcmVjZWlwMg$CLqTQK5HirT7gMqvqPKLqVlwYRafc6ss/56lYE2brTU
        """
    /// A player id that contains HTML, because a game server may send any text.
    static let hostile = "<script>alert(1)"

    static func start(in bed: ParkingBed, _ settings: [String: String] = [:]) async throws -> Int {
        let console = try bed.startWorker(
            ["CONSOLE_HTTP_PORT": "0", "CONSOLE_USERS": users].merging(settings) { $1 }, command: "console")
        return try await Worker(process: console).port()
    }

    /// Makes workers grant one purchase, hold three purchases, and park one submission. One of the holds is the hostile
    /// player's.
    @discardableResult
    static func fill(_ bed: ParkingBed) async throws -> WorkerProcess {
        let worker = try bed.startWorker()
        try await bed.submit("p-granted", ParkingBed.receipt("9901"))
        let unknown = "com.example.castle.comet.1"
        for (number, player) in ["p-held-1", "p-held-2", hostile].enumerated() {
            try await bed.submit(
                "held-\(number)", ParkingBed.receipt("991\(number)", product: unknown), player: player)
            try await bed.until("\(player) is held") { bed.answers(player) == ["receipt.held unknown_product"] }
        }
        let stuck = ParkingBed.receipt("9921")
        bed.apple.register(receiptData: stuck, behaviour: [.status(21009).times(1_000_000)])
        try await bed.submit("p-parked", stuck)
        try await bed.until("one is granted") { bed.answers("p-granted") == ["receipt.granted"] }
        try await bed.until("one is parked") { try await bed.number("SELECT count(*) FROM parked") == 1 }
        return worker
    }

    @Test(
        "only signed-in users see the console; the console slows wrong passwords, and refuses other hosts and origins")
    func signingIn() async throws {
        try await ParkingBed.run { bed in
            let port = try await Self.start(in: bed)
            let anybody = ConsoleClient(port: port)
            for path in ["/", "/held", "/held.csv", "/search?q=1", "/changes", "/confirm?change=release"] {
                let answer = try await anybody.get(path)
                #expect(answer.status == 303 && answer["Location"]?.hasPrefix("/sign-in") == true, "\(path)")
                #expect(answer.body.isEmpty)
            }
            #expect(try await anybody.get("/sign-in").body.contains("type=\"password\""))
            let begun = ContinuousClock.now
            let wrong = try await anybody.post("/sign-in", ["name": "ann", "password": "a wrong password"])
            #expect(wrong.status == 401 && wrong["Set-Cookie"] == nil)
            #expect(ContinuousClock.now - begun >= .seconds(1))
            for name in ["nobody", "ann:operate", ""] {
                let answer = try await anybody.post("/sign-in", ["name": name, "password": "a right: password"])
                #expect(answer.status == 401, "\(name)")
            }
            let elsewhere = try await anybody.post(
                "/sign-in", ["name": "ann", "password": "a right: password"],
                headers: ["Origin": "http://evil.example"])
            #expect(elsewhere.status == 403)
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            let page = try await ann.get("/")
            #expect(page.status == 200 && page.body.contains("ann, can make changes"))
            #expect(page["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
            #expect(page["Cache-Control"] == "no-store" && !page.body.contains("<script"))
            let metrics = try await Scrape(anybody.get("/metrics").body)
            #expect(metrics[#"receiptd_console_sign_ins_total{result="wrong"}"#] == 4)
            #expect(metrics[#"receiptd_console_sign_ins_total{result="right"}"#] == 1)
            for host in ["evil.example", "evil.example:\(port)", "127.0.0.1.evil.example"] {
                #expect(try await ann.get("/held", headers: ["Host": host]).status == 421, "\(host)")
            }
            #expect(try await ann.get("/held", headers: ["Host": "localhost:\(port)"]).status == 200)
            #expect(try await anybody.get("/metrics", headers: ["Host": "evil.example"]).status == 421)
            #expect(try await anybody.get("/metrics", headers: ["Host": "localhost:\(port)"]).status == 200)
            // An orchestrator probes the pod's address, so the console accepts any host name here.
            for path in ["/livez", "/readyz"] {
                let answer = try await anybody.get(path, headers: ["Host": "10.1.2.3:\(port)"])
                #expect(answer.status == 200, "\(path)")
            }
            #expect(try await ann.post("/sign-out", ["token": page.token ?? ""]).status == 303)
            #expect(try await ann.get("/held").status == 303, "the session is over")
        }
    }

    @Test("the console's lists and searches show stored rows, escape HTML in player ids, and show no receipt")
    func showing() async throws {
        try await ParkingBed.run { bed in
            let worker = try await Self.fill(bed)
            let port = try await Self.start(in: bed)
            let rob = try await ConsoleClient.signedIn(port: port, "rob", "another")
            let held = try await rob.get("/held")
            #expect(held.body.contains("3 in all") && held.body.contains("9911"))
            #expect(held.body.contains("&lt;script&gt;alert(1)") && !held.body.contains("<script>"))
            #expect(!held.body.contains("/confirm"), "who may only read is offered no change")
            #expect(try await rob.get("/held?reason=daily_limit").body.contains("0 in all"))
            #expect(try await rob.get("/held?bundle=com.example.other").body.contains("0 in all"))
            #expect(try await rob.get("/held?reason=made_up").status == 400)
            #expect(try await rob.get("/held?page=0").status == 400)
            #expect(try await rob.get("/held?page=2").body.contains("This page has no rows"))
            #expect(try await rob.get("/parked").body.contains("p-parked"))
            let file = try await rob.get("/held.csv")
            #expect(file["Content-Type"]?.hasPrefix("text/csv") == true)
            #expect(file.body.split(separator: "\r\n").count == 4)
            for list in ["unclaimed", "subscriptions", "refunds", "dead-letters", "changes"] {
                #expect(try await rob.get("/\(list)").status == 200, "\(list)")
            }
            for span in ["hour", "day", "month"] {
                #expect(try await rob.get("/?span=\(span)").body.contains("Last \(span)"))
            }
            let known = try await rob.get("/search?q=9901")
            #expect(known.body.contains("granted to player") && known.body.contains("p-granted"))
            let pasted = try await rob.get("/search?q=%209901%0A")
            #expect(pasted.body.contains("granted to player"))
            #expect(!known.body.contains(String(ParkingBed.receipt("9901").prefix(60))))
            let hostile = try await rob.get("/search?q=\(ConsoleClient.encoded(Self.hostile))")
            #expect(hostile.body.contains("waits for an operator's decision") && !hostile.body.contains("<script>"))
            #expect(try await rob.get("/search?q=nothing-of-it").body.contains("PostgreSQL has nothing about"))
            #expect(try await rob.get("/search?q=").status == 400)
            #expect(try await rob.get("/nothing").status == 404)
            // A stopping worker stores its counts of the last minute.
            worker.terminate()
            #expect(try await blocking { worker.wait() } == 0)
            let traffic = try await rob.get("/").body
            #expect(traffic.contains(">receipt.granted</td><td class=\"n\" data-label=\"Count\">1</td>"), "\(traffic)")
            #expect(traffic.contains(">genuine</td><td class=\"n\" data-label=\"Submissions\">4</td>"), "\(traffic)")
        }
    }

    @Test(
        "a confirmed console change acts on the shown rows only, and names the operator; forged forms change nothing",
        .takesLong)
    func changing() async throws {
        try await ParkingBed.run { bed in
            try await Self.fill(bed)
            let port = try await Self.start(in: bed)
            let rob = try await ConsoleClient.signedIn(port: port, "rob", "another")
            #expect(try await rob.get("/confirm?change=release&id=9910").status == 403)
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            let page = try await ann.get("/confirm?change=release&id=9910")
            #expect(page.body.contains("Release 1 held transaction?"))
            let form = ["change": "release", "id": "9910", "shown": "1", "token": page.token ?? ""]
            let forged = [
                try await ann.post("/change", form.filter { $0.key != "token" }),
                try await ann.post("/change", form.merging(["token": String(repeating: "0", count: 64)]) { $1 }),
                try await ann.post("/change", form, headers: ["Origin": "http://evil.example"]),
                try await ann.post("/change", form, headers: ["Sec-Fetch-Site": "cross-site"]),
                try await rob.post("/change", form),
            ]
            #expect(forged.map(\.status) == [403, 403, 403, 403, 403])
            for path in ["/confirm?change=reject-held&id=", "/confirm?change=reject-parked&id="] {
                #expect(try await ann.get(path).status == 400, "an empty id is never all")
            }
            #expect(try await bed.number("SELECT count(*) FROM holds WHERE released_at IS NOT NULL") == 0)
            #expect(try await bed.number("SELECT count(*) FROM console_changes") == 0)

            let asked = try await ann.get("/confirm?change=release")
            for found in ["3:0", "3", ""] {
                let all = ["change": "release", "shown": "3", "token": asked.token ?? "", "found": found]
                #expect(try await ann.post("/change", all).status == 409, "others wait than were shown")
            }
            #expect(try await bed.number("SELECT count(*) FROM holds WHERE released_at IS NOT NULL") == 0)
            let released = try await ann.confirm("/confirm?change=release&id=9910")
            #expect(released.body.contains("Release (held): 1 released"), "\(released.body)")
            try await bed.until("it is granted") { bed.answers("p-held-1").contains("receipt.granted") }
            let nothing = try await ann.post("/change", form.merging(["change": "reject-held"]) { $1 })
            #expect(try await ann.get(nothing["Location"] ?? "").body.contains("Reject (held): nothing changed"))
            let shown = try await ann.get("/confirm?change=reject-held&reason=unknown_product")
            let other = [
                "change": "reject-held", "reason": "unknown_product", "shown": "2", "token": shown.token ?? "",
            ]
            for found in ["3:0", "2:0", "2", ""] {
                let answer = try await ann.post("/change", other.merging(["found": found]) { $1 })
                #expect(answer.status == 409, "others wait than were shown")
            }
            let rejected = try await ann.confirm("/confirm?change=reject-held&reason=unknown_product")
            #expect(rejected.body.contains("2 rejected"), "\(rejected.body)")
            try await bed.until("they are rejected") {
                [Self.hostile, "p-held-2"].allSatisfy { bed.answers($0).last == "receipt.rejected refused_by_operator" }
            }
            #expect(try await bed.number("SELECT count(*) FROM hold_decisions WHERE operator = 'ann'") == 3)
            try await Self.postpone(in: bed)
            #expect(try await ann.confirm("/confirm?change=retry").body.contains("1 due now"))
            try await Self.postpone(in: bed)
            #expect(try await ann.confirm("/confirm?change=reject-parked&id=p-parked").body.contains("1 rejected"))
            try await bed.until("it is answered") {
                bed.answers("p-parked") == ["receipt.rejected refused_by_operator"]
            }
            #expect(try await ann.confirm("/confirm?change=revoke&id=9901").body.contains("revoked"))
            try await bed.until("it is revoked") {
                bed.answers("p-granted") == ["receipt.granted", "receipt.revoked revoked_by_operator"]
            }
            #expect(try await ann.get("/confirm?change=revoke&id=9901").status == 409)
            #expect(try await ann.confirm("/confirm?change=reinstate&id=9901").body.contains("reinstated"))
            try await bed.until("it is reinstated") { bed.answers("p-granted").last == "receipt.reinstated" }
            #expect(try await ann.get("/confirm?change=release").status == 409, "nothing is left")
            #expect(
                try await bed.number(
                    "SELECT count(*) FROM console_changes WHERE operator = 'ann' AND result IS NOT NULL") == 7)
            #expect(try await ann.get("/changes").body.contains("reject") == true)
        }
    }

    /// Waits until no worker tries the parked submission, and postpones the next try. After the grant Apple answers
    /// again, so without this a worker may lease the submission at any time.
    private static func postpone(in bed: ParkingBed) async throws {
        let sql = "UPDATE parked SET due_at = now() + '1 h' WHERE (leased_until > now()) IS NOT TRUE RETURNING 1::int8"
        try await bed.until("the worker has it no more") { try await bed.number(sql) == 1 }
    }

    @Test("while one long search runs, the console refuses further long searches with 429, and serves other pages")
    func longSearches() async throws {
        try await ParkingBed.run { bed in
            let port = try await Self.start(in: bed)
            let rob = try await ConsoleClient.signedIn(port: port, "rob", "another")
            let far = "/search?q=nobody&days=400"
            let reader = PostgresPool(
                configuration: PostgresConfiguration(uri: bed.databaseURL, applicationName: "obstacle"), size: 1)
            let end = DispatchSemaphore(value: 0)
            let (locking, locked) = AsyncStream<Void>.makeStream()
            let obstacle = Task {
                try await reader.run { session in
                    try session.transaction { session in
                        try session.run(script: "LOCK TABLE outcomes IN ACCESS EXCLUSIVE MODE")
                        locked.finish()
                        end.wait()
                    }
                }
            }
            for await _ in locking {}
            let first = Task { try await rob.get(far) }
            try await bed.until("the first search waits") {
                try await bed.number(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                ) == 1
            }
            for _ in 0..<8 {
                let refused = try await rob.get(far)
                #expect(refused.status == 429 && refused.body.contains("one such search runs at a time"))
            }
            #expect(try await rob.get("/held").status == 200)
            end.signal()
            try await obstacle.value
            #expect(try await first.value.status == 200)
            #expect(try await rob.get(far).status == 200)
            await reader.close()
        }
    }

    @Test("without configured users the console exits with 78 beyond loopback, and allows no change on loopback")
    func withoutUsers() async throws {
        try await ParkingBed.run { bed in
            let open = try bed.startWorker(
                ["CONSOLE_HTTP_HOST": "0.0.0.0", "CONSOLE_HTTP_PORT": "0"], command: "console")
            #expect(try await blocking { open.wait() } == 78)
            let port = try await Self.start(in: bed, ["CONSOLE_USERS": ""])
            let anybody = ConsoleClient(port: port)
            #expect(try await anybody.get("/held").status == 200)
            #expect(try await anybody.get("/confirm?change=release").status == 403)
            #expect(try await anybody.post("/change", ["change": "release"]).status == 403)
        }
    }

    @Test("while PostgreSQL is down, every console page answers 503; afterwards the operator is still signed in")
    func databaseAway() async throws {
        try await ParkingBed.run(stopsDatabase: true) { bed in
            try await bed.kill(Self.fill(bed))
            let port = try await Self.start(in: bed)
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            let confirm = "/confirm?change=release&id=9910"
            let server = try #require(bed.parts.postgres)
            try await blocking { server.stopServer(crashing: true) }
            for path in ["/", "/held", "/parked", "/search?q=p-granted", "/changes", confirm] {
                let answer = try await ann.get(path)
                #expect(answer.status == 503 && answer.body.contains("PostgreSQL does not answer"), "\(path)")
            }
            #expect(try await ann.get("/livez").status == 200)
            try await eventually("/readyz says it") { try await ann.get("/readyz").status == 503 }
            try await blocking { try server.restart() }
            try await eventually("the views are back") { try await ann.get("/held").status == 200 }
            try await eventually("/readyz says it") { try await ann.get("/readyz").status == 200 }
            try await bed.until("nothing was changed") {
                (try? await bed.number("SELECT count(*) FROM holds WHERE released_at IS NULL")) == 3
            }
            #expect(try await ann.confirm(confirm).body.contains("1 released"))
        }
    }
}
