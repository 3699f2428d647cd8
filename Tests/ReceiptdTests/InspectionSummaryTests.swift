import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import Administration
@testable import BackOffice
@testable import Ledger

@Suite("The summary that `receiptd inspect` prints")
struct InspectionSummaryTests {
    private static let received = Timestamp(milliseconds: 1_795_167_000_000)
    private static let record = KafkaFindings.Waiting(
        submissionID: "s", playerID: "p", bundleID: "b", topic: "t", partition: 3, offset: 120, receivedAt: received,
        ahead: 17, lag: 40)
    private static let answer = KafkaFindings.Answer(
        eventID: "e", reason: "foreign_app", detail: "Another app's.", submissionID: "s", playerID: "p",
        occurredAt: received.rfc3339, partition: 1, offset: 9)

    private func row(_ members: (String, JSONValue)...) -> JSONValue {
        .object(members.map { JSONMember(name: $0.0, value: $0.1) })
    }

    @Test(
        "`inspect` calls a Kafka record undecided until PostgreSQL has its position or a later event answers the record"
    )
    func undecided() {
        var found = KafkaFindings()
        found.waiting = [Self.record]
        #expect(found.undecided(outcomes: [], parked: []) == [Self.record])
        let place = row(("topic", .string("t")), ("partition", .number("3")), ("offset", .number("120")))
        let other = row(("topic", .string("t")), ("partition", .number("3")), ("offset", .number("121")))
        #expect(found.undecided(outcomes: [other], parked: []) == [Self.record])
        #expect(found.undecided(outcomes: [other, place], parked: []).isEmpty)
        #expect(found.undecided(outcomes: [], parked: [place]).isEmpty)
        // An answer to an earlier record of the same submission does not answer this record.
        var earlier = Self.answer
        earlier.occurredAt = Timestamp(milliseconds: Self.received.milliseconds - 1000).rfc3339
        found.answers = [earlier]
        #expect(found.undecided(outcomes: [], parked: []) == [Self.record])
        found.answers = [earlier, Self.answer]
        #expect(found.undecided(outcomes: [], parked: []).isEmpty)
    }

    @Test("`inspect` lists a waiting record's ignored fields, and notes if the record's key is not the player's id")
    func mistakes() throws {
        func told(_ key: String, _ fields: String) throws -> (sentence: String, row: JSONValue?) {
            let value = Array(
                #"{"submission_id":"s","player_id":"p","bundle_id":"b","receipt_data":"x"\#(fields)}"#.utf8)
            var record = Self.record
            record.isKeyedByPlayer = key == "p"
            if case .submission(let submission) = SubmissionDecoder().decode(value, signatureHeaders: []) {
                record.ignored = submission.ignoredFields(in: value)
            }
            var found = KafkaFindings()
            found.waiting = [record]
            let summary = InspectionSummary(id: "s", inspection: Inspection(sections: []), kafka: found)
            return (try #require(summary.sentences.first), summary.sections.first?.rows.first)
        }
        let right = try told("p", #","currency":"eur","submitted_at":"2026-11-27T04:50:00Z""#)
        #expect(!right.sentence.contains("key") && !right.sentence.contains("ignored"))
        #expect(right.row?["keyed_by_player"] == .bool(true) && right.row?["ignored_fields"] == .array([]))
        let wrong = try told("another", #","currency":"euros","submitted_at":"yesterday""#)
        #expect(wrong.sentence.contains("its key is not the player's id"))
        #expect(wrong.sentence.contains("its currency cannot be read and is ignored"))
        #expect(wrong.sentence.contains("its submitted_at cannot be read and is ignored"))
        #expect(wrong.row?["keyed_by_player"] == .bool(false))
        #expect(wrong.row?["ignored_fields"] == .array([.string("currency"), .string("submitted_at")]))
    }

    @Test("once PostgreSQL has an answer's event, `inspect` leaves out the event's copy on the outcomes topic")
    func untold() {
        var found = KafkaFindings()
        found.answers = [Self.answer]
        #expect(found.untold(outcomes: []) == [Self.answer])
        #expect(found.untold(outcomes: [row(("event_id", .string("e")))]).isEmpty)
    }

    @Test("`inspect` reads open circuits and wrong credentials from a worker's metrics")
    func metrics() {
        let text = """
            # HELP receiptd_apple_circuit_open 1 while requests to this endpoint are held back after failures.
            receiptd_apple_circuit_open{bundle_id="a",endpoint="verifyReceipt"} 1
            receiptd_apple_circuit_open{bundle_id="b",endpoint="verifyReceipt"} 0
            receiptd_misconfigured{bundle_id="c"} 1
            receiptd_in_flight 7
            """
        #expect(
            AppleWord.troubles(inMetrics: text) == [
                #"requests to Apple are held back after failures {bundle_id="a",endpoint="verifyReceipt"}"#,
                #"an app's credentials are wrong {bundle_id="c"}"#,
            ])
    }

    private func rows(_ name: String, _ objects: String...) throws -> Inspection.Section {
        Inspection.Section(name: name, rows: try objects.map { try JSONParser.parse(Array($0.utf8)).value })
    }

    @Test("`inspect` prints one sentence for each parked submission, each grant and each rejection")
    func verdicts() throws {
        let inspection = Inspection(sections: [
            try rows(
                "grants",
                #"{"transaction_id":"1","player_id":"p","bundle_id":"b","product_id":"gems","quantity":2,"granted_at":"2026-11-23T02:00:00.5+00:00","revoked_at":null,"revoked_units":0,"imported":false}"#,
                #"{"transaction_id":"2","player_id":"p","bundle_id":"b","product_id":"gems","quantity":1,"granted_at":"2026-11-23T01:00:00+00:00","revoked_at":"2026-11-23T03:00:00+00:00","revoked_units":1,"imported":false}"#,
                #"{"transaction_id":"3","player_id":"p","bundle_id":"b","product_id":"gems","quantity":10,"granted_at":"2026-11-23T01:00:00+00:00","revoked_at":"2026-11-23T03:00:00+00:00","revoked_units":3,"imported":false}"#
            ),
            try rows("outbox", #"{"subject":"2"}"#, #"{"subject":"s-3"}"#),
            try rows(
                "parked",
                #"{"submission_id":"s-4","player_id":"p","reason":"apple_trouble","detail":"timeout","parked_at":"2026-11-23T02:00:00+00:00","due_at":"2026-11-23T02:05:00+00:00","is_leased":false}"#,
                #"{"submission_id":"s-5","player_id":"p","reason":"crashed","detail":null,"parked_at":"2026-11-23T02:00:00+00:00","due_at":null,"is_leased":null}"#
            ),
            try rows(
                "outcomes",
                #"{"submission_id":"s-3","player_id":"p","answer":"receipt.rejected","reason":"foreign_app","detail_code":"other_bundle_id","detail":"The receipt was issued for another app.","decided_at":"2026-11-23T02:00:00+00:00"}"#,
                #"{"submission_id":"s-1","player_id":"p","answer":"receipt.granted","reason":null,"decided_at":"2026-11-23T02:00:00+00:00"}"#
            ),
        ])
        #expect(
            InspectionSummary(id: "p", inspection: inspection, kafka: KafkaFindings()).verdicts == [
                #"not decided yet: submission "s-4" of player "p" waits in PostgreSQL since 2026-11-23T02:00:00.000Z: apple_trouble, timeout; a worker tries it next at 2026-11-23T02:05:00.000Z"#,
                #"not decided yet: submission "s-5" of player "p" waits in PostgreSQL since 2026-11-23T02:00:00.000Z: crashed; it waits for an operator"#,
                #"granted to player "p" at 2026-11-23T02:00:00.500Z: 2 x gems of b, transaction 1; its event is published"#,
                #"granted to player "p" at 2026-11-23T01:00:00.000Z: 1 x gems of b, transaction 2; its event is not published yet; revoked at 2026-11-23T03:00:00.000Z"#,
                #"granted to player "p" at 2026-11-23T01:00:00.000Z: 10 x gems of b, transaction 3; its event is published; 3 of them revoked at 2026-11-23T03:00:00.000Z"#,
                #"refused at 2026-11-23T02:00:00.000Z: submission "s-3" of player "p": foreign_app; its event is not published yet. The receipt was issued for another app."#,
            ])
    }

    @Test("`inspect` finds a byte sequence anywhere in a longer byte sequence")
    func bytes() {
        let table: [(String, String, Bool)] = [
            ("abcabd", "abd", true), ("abcabd", "abcabd", true), ("abcab", "abd", false), ("", "a", false),
            ("aaab", "aab", true), ("ab", "abc", false), ("xa", "a", true), ("xyz", "", true),
        ]
        for (whole, part, isThere) in table {
            #expect(SearchedID.holds(Array(whole.utf8), Array(part.utf8)) == isThere, "\(whole) \(part)")
        }
    }

    @Test("from all workers' counts, `inspect` lists Apple's endpoints that do not answer, and since when")
    func appleTrouble() {
        let now = Timestamp(milliseconds: 1_795_167_030_000)
        func row(_ name: String, _ counts: [Int: Int]) -> Traffic.Row {
            Traffic.Row(kind: .apple, name: name, bins: (0..<60).map { counts[$0] ?? 0 })
        }
        let traffic = Traffic(
            span: .hour,
            rows: [
                // Apple answers until minute 40, with one time-out before, and then stops answering.
                row("verifyReceipt Production genuine", [0: 900, 40: 3]),
                row("verifyReceipt Production timeout", [39: 1, 41: 7, 58: 80]),
                row("verifyReceipt Production server_error", [42: 100]),
                // Most requests time out, but Apple still answers one with a refusal.
                row("verifyReceipt Sandbox refused", [58: 1]), row("verifyReceipt Sandbox timeout", [58: 500]),
                // The trouble was long ago, and no worker has asked since.
                row("transactions Production timeout", [10: 4]),
                // The trouble has lasted for the whole hour.
                row("finish Production connection", [0: 2, 59: 2]),
            ])
        #expect(
            AppleTrouble.lines(traffic, now: now) == [
                "Apple has been in trouble for an hour or longer: no answer to finish Production (connection 4)",
                "Apple has been in trouble since 2026-11-20T09:12:00.000Z: no answer to verifyReceipt Production "
                    + "(server_error 100, timeout 87)",
            ])
        #expect(AppleTrouble.lines(Traffic(span: .hour, rows: []), now: now).isEmpty)
    }
}
