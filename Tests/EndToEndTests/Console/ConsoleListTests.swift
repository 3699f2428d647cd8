import Foundation
import TestSupport
import Testing

@testable import Demo

@Suite("The console's lists, end to end", .wholeSystem)
struct ConsoleListTests {
    /// Inserts four unclaimed purchases. Two have killed workers. Two belong to no known player, and one of these has
    /// no evidence. The purchases' catalog version is so high that a new catalog does not make the purchases due.
    static func fillUnclaimed(_ bed: ParkingBed) async throws {
        _ = try await bed.number(
            """
            INSERT INTO announced_purchases (transaction_id, original_transaction_id, bundle_id, product_id, environment, source,
                submission_id, is_renewal, purchased_at, signed_at, state, reason, evidence, catalog_version)
            SELECT id, id, 'com.example.castle', 'com.example.castle.gems.100', 'Production', 'notification', 'apple-' || id, false,
                now(), now(), 'unclaimed', reason, evidence, 1000000
            FROM (VALUES ('9801', 'crashed', '{}'::bytea), ('9802', 'crashed', '{}'), ('9803', 'unknown_player', '{}'),
                ('9804', 'unknown_player', NULL)) AS told (id, reason, evidence)
            RETURNING 1::int8
            """)
    }

    @Test("the console filters dead letters by reason, player and age, and exports the counts of a reason as CSV")
    func deadLetters() async throws {
        try await ParkingBed.run { bed in
            _ = try await bed.number(
                """
                INSERT INTO traffic_minutes (began_at, kind, name, count)
                SELECT date_trunc('minute', now()), 'dead_letter', name, count
                FROM (VALUES ('too_large', 3), ('bad_signature', 2)) AS counted (name, count)
                RETURNING 1::int8
                """)
            let rob = try await ConsoleClient.signedIn(port: try await ConsoleTests.start(in: bed), "rob", "another")
            func rows(_ path: String) async throws -> [String] {
                try await rob.get(path).body.matches(of: /<tr><td data-label="Reason">([a-z_]+)<\/td>/).map {
                    String($0.output.1)
                }
            }
            #expect(try await rows("/dead-letters") == ["bad_signature", "too_large"])
            #expect(try await rows("/dead-letters?reason=") == ["bad_signature", "too_large"])
            #expect(try await rows("/dead-letters?reason=too_large") == ["too_large"])
            let page = try await rob.get("/dead-letters?reason=too_large").body
            #expect(page.contains("<option value=\"too_large\" selected>too_large</option>"))
            #expect(page.contains("/dead-letters.csv?reason=too_large"))
            #expect(try await rob.get("/dead-letters?reason=crashed").body.contains("No dead letters were counted"))
            #expect(try await rob.get("/dead-letters?reason=made_up").status == 400)
            _ = try await bed.number(
                """
                INSERT INTO local_refusals (event_id, submission_id, player_id, reason, detail_code, detail, occurred_at)
                SELECT gen_random_uuid(), name, player, reason, 'c', 'What is wrong.', now() - age
                FROM (VALUES ('t/0/1', 'p-1', 'too_large', interval '2 hours'), ('t/0/2', 'p-2', 'too_large', '0 s'),
                    ('s-3', 'p-1', 'malformed_submission', '0 s'), ('s-4', 'p-1', 'foreign_app', '0 s')) AS told (name, player, reason, age)
                RETURNING 1::int8
                """)
            func records(_ query: String) async throws -> [String] {
                try await rob.get("/dead-letters?\(query)").body.matches(
                    of: /data-label="Submission or record"><a href="\/search\?q=([^"]+)"/
                ).map { String($0.output.1) }
            }
            #expect(try await records("player=p-1") == ["s-3", "t%2F0%2F1"])
            #expect(try await records("player=p-1&age=under-hour") == ["s-3"])
            #expect(try await records("reason=too_large") == ["t%2F0%2F2", "t%2F0%2F1"])
            #expect(try await records("player=nobody").isEmpty)
            #expect(try await !rob.get("/dead-letters?player=p-2").body.contains("by reason"), "counts know no player")
            for query in ["age=over-week", "bundle=com.example.castle", "product=gold"] {
                #expect(try await rob.get("/dead-letters?\(query)").status == 400, "\(query)")
            }
            let file = try await rob.get("/dead-letters.csv?reason=too_large").body
            #expect(file.split(separator: "\r\n").map { $0.prefix { $0 != "," } } == ["Reason", "too_large"])
        }
    }

    @Test("an operator retries one unclaimed purchase or all filtered ones, and the console stores the operator's name")
    func unclaimed() async throws {
        try await ParkingBed.run { bed in
            try await Self.fillUnclaimed(bed)
            let port = try await ConsoleTests.start(in: bed)
            let rob = try await ConsoleClient.signedIn(port: port, "rob", "another")
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            #expect(try await !rob.get("/unclaimed").body.contains("/confirm"))
            let list = try await ann.get("/unclaimed").body
            #expect(list.contains("4 in all, 1 cannot be retried"))
            #expect(list.contains("Retry 9803") && !list.contains("Retry 9804"))
            let crashed = "/confirm?change=retry-unclaimed&reason=crashed"
            #expect(try await rob.get(crashed).status == 403)
            #expect(try await ann.get("/confirm?change=retry-unclaimed&id=").status == 400)
            #expect(try await ann.get("/confirm?change=retry-unclaimed&id=9804").status == 409)
            let page = try await ann.get(crashed)
            #expect(page.body.contains("Retry 2 unclaimed purchases now?"))
            let form = ["change": "retry-unclaimed", "reason": "crashed", "shown": "2", "token": page.token ?? ""]
            for found in ["2:0", "2", ""] {
                let answer = try await ann.post("/change", form.merging(["found": found]) { $1 })
                #expect(answer.status == 409, "others wait than were shown")
            }
            let waiting = "SELECT count(*) FROM announced_purchases WHERE state = 'waiting'"
            #expect(try await bed.number(waiting) == 0)
            #expect(try await ann.confirm(crashed).body.contains("Retry (unclaimed): 2 due now"))
            #expect(try await ann.confirm("/confirm?change=retry-unclaimed&id=9803").body.contains("1 due now"))
            #expect(try await ann.get("/confirm?change=retry-unclaimed").status == 409, "nothing is left")
            #expect(try await bed.number(waiting) == 3)
            let entered =
                "SELECT concat_ws('|', operator, change, subject, shown, result) FROM console_changes ORDER BY id"
            #expect(
                try await bed.rows(entered) == [
                    "ann|retry-unclaimed|reason crashed|2|2 due now; a worker tries within seconds",
                    "ann|retry-unclaimed|9803|1|1 due now; a worker tries within seconds",
                ])
        }
    }

    @Test("in the list of refunds an operator revokes a grant whose refund Apple reversed, and reinstates it")
    func refunds() async throws {
        try await ParkingBed.run { bed in
            try await ConsoleTests.fill(bed)
            let port = try await ConsoleTests.start(in: bed)
            let ann = try await ConsoleClient.signedIn(port: port, "ann", "a right: password")
            _ = try await bed.number(
                """
                INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, signed_at)
                SELECT transaction_id, bundle_id, environment, original_transaction_id, product_id, now() FROM grants
                UNION ALL
                SELECT '9999', bundle_id, environment, '9999', product_id, now() FROM grants
                RETURNING 1::int8
                """)
            let given = try await ann.get("/refunds").body
            #expect(
                given.contains("Revoke 9901") && !given.contains("Reinstate 9901") && !given.contains("Revoke 9999"))
            #expect(!given.contains("Revoke all"))
            #expect(try await ann.confirm("/confirm?change=revoke&id=9901").body.contains("revoked; a worker"))
            let taken = try await ann.get("/refunds").body
            #expect(taken.contains("reversed, revoked by an operator"))
            #expect(taken.contains("Reinstate 9901") && !taken.contains("Revoke 9901"))
            #expect(try await ann.confirm("/confirm?change=reinstate&id=9901").body.contains("reinstated; a worker"))
        }
    }
}
