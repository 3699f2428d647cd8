import TestSupport
import Testing

@testable import Demo

@Suite("The console's sessions, end to end", .wholeSystem)
struct ConsoleSessionTests {
    @Test("an operator ends another user's console session; the console refuses a reader's form and a forged form")
    func ending() async throws {
        try await ParkingBed.run { bed in
            let port = try await ConsoleTests.start(in: bed)
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            let rob = try await ConsoleClient.signedIn(port: port, "rob", "another")
            #expect(try await rob.get("/sessions").status == 403)
            let page = try await ann.get("/sessions")
            let robs = try #require(
                page.body.firstMatch(of: /name="number" value="(\d+)">\s*<button aria-label="End session \d+ of rob"/))
            let form = ["token": page.token ?? "", "number": String(robs.output.1)]
            let forged = [
                try await ann.post("/end-session", form.filter { $0.key != "token" }),
                try await ann.post("/end-session", form, headers: ["Origin": "http://evil.example"]),
                try await ann.post("/end-session", form, headers: ["Sec-Fetch-Site": "cross-site"]),
                try await rob.post("/end-session", form.merging(["token": rob.get("/").token ?? ""]) { $1 }),
            ]
            #expect(forged.map(\.status) == [403, 403, 403, 403])
            #expect(try await rob.get("/held").status == 200)
            let ended = try await ann.post("/end-session", form)
            #expect(ended.status == 303 && ended["Location"] == "/sessions")
            #expect(try await rob.get("/held").status == 303, "the session is over")
            let left = try await ann.get("/sessions").body
            #expect(!left.contains(" of rob\"") && left.contains("this one"))
            #expect(try await ann.post("/end-session", form).status == 409)
            #expect(try await ann.post("/end-session", form.merging(["number": "x"]) { $1 }).status == 409)
        }
    }
}
