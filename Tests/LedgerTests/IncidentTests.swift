import Ledger
import Testing

@Suite("The store of incidents")
struct IncidentTests {
    @Test("the incident store sums incidents by kind, with the latest time, and deletes them after 90 days")
    func added() async throws {
        let database = try await LedgerDatabase()
        let store = IncidentStore(pool: LedgerDatabase.pool(database.uri))
        do {
            #expect(try await store.counts().isEmpty)
            try await store.add([])
            try await store.add([
                IncidentStore.Incident(kind: "deleted_unread", subject: "t/1: 0 to 439", count: 440),
                IncidentStore.Incident(kind: "deleted_unread", subject: "t/0: 5 to 5", count: 1),
                IncidentStore.Incident(kind: "crashed", subject: "", count: 1),
            ])
            try await database.run("UPDATE incidents SET last_at = to_timestamp(1000) WHERE kind = 'crashed'")
            // Another worker reports the same incident.
            try await store.add([IncidentStore.Incident(kind: "deleted_unread", subject: "t/0: 5 to 5", count: 2)])
            let counts = try await store.counts()
            #expect(counts.map(\.kind) == ["deleted_unread"], "what is older than 90 days is forgotten")
            #expect(counts.first?.count == 443)
            #expect(counts.first.map { $0.lastSeconds > 1_700_000_000 } == true)
            #expect(try await database.number("SELECT count(*) FROM incidents") == 2)
        }
    }
}
