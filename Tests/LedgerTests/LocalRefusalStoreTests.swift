import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("The store of local refusals")
struct LocalRefusalStoreTests {
    private static func refusal(_ number: Int, player: String = "p", detail: String = "Another app's.")
        -> LocalRefusal
    {
        LocalRefusal(
            eventID: "00000000-0000-5000-8000-00000000000\(number)", submissionID: "s-\(number)", playerID: player,
            bundleID: nil, reason: "foreign_app", detailCode: "foreign_app", detail: detail,
            occurredAt: "2026-11-27T04:52:16Z")
    }

    @Test("if a local refusal is stored twice, an inspection by submission, player or event finds it once")
    func found() async throws {
        let database = try await LedgerDatabase()
        let store = LocalRefusalStore(pool: database.pool)
        try await store.add([Self.refusal(1), Self.refusal(2, player: "q"), Self.refusal(3, detail: "nul\0")])
        try await store.add([Self.refusal(1)])
        for id in ["s-1", "p", "00000000-0000-5000-8000-000000000001"] {
            let found = try await Inspection.of(id, days: 2, limit: 5, in: database.pool)
            let rows = try #require(found.sections.first { $0.name == "local_refusals" }).rows
            #expect(rows.map { $0["submission_id"]?.string } == ["s-1"], "\(id)")
        }
    }

    @Test("a list of dead letters by reason, player and time leaves out other local refusals")
    func deadLetters() async throws {
        let database = try await LedgerDatabase()
        let store = LocalRefusalStore(pool: database.pool)
        try await store.add([Self.refusal(1), Self.refusal(2), Self.refusal(3, player: "q"), Self.refusal(4)])
        try await database.run(
            """
            UPDATE local_refusals SET reason = 'too_large' WHERE submission_id <> 's-4';
            UPDATE local_refusals SET occurred_at = occurred_at + interval '1 hour' WHERE submission_id = 's-1'
            """)
        func found(_ reason: String, player: String? = nil, since: String? = nil) async throws -> [String] {
            try await KeptDeadLetters.list(
                [reason], player: player, since: since.flatMap { Timestamp(rfc3339: $0) }, limit: 5, in: database.pool
            ).map(\.submissionID)
        }
        #expect(try await found("too_large") == ["s-1", "s-2", "s-3"])
        #expect(try await found("crashed").isEmpty)
        #expect(try await found("too_large", player: "p") == ["s-1", "s-2"])
        #expect(try await found("too_large", since: "2026-11-27T05:00:00Z") == ["s-1"])
        #expect(
            try await KeptDeadLetters.list(["too_large"], limit: 1, in: database.pool).map(\.submissionID) == ["s-1"])
    }

    @Test("maintenance deletes local refusals after three days")
    func forgotten() async throws {
        let database = try await LedgerDatabase()
        try await LocalRefusalStore(pool: database.pool).add((1...6).map { Self.refusal($0) })
        try await database.run(
            "UPDATE local_refusals SET kept_at = now() - (right(submission_id, 1)::int - 1) * interval '1 day'")
        _ = try await OutcomeRetention(pool: database.pool, days: 30, turnSeconds: 0).run(
            now: .init(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
        #expect(try await database.number("SELECT count(*) FROM local_refusals") == 4)
    }
}
