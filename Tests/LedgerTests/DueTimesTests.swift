import Postgres
import Testing

@testable import Ledger

@Suite("Due times that a wrong clock put too far ahead")
struct DueTimesTests {
    @Test("the worker corrects wrong due times in batches of 1,000: after a full batch immediately, else once a minute")
    func pace() async throws {
        let database = try await LedgerDatabase()
        try await database.run("CREATE TABLE put_off (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, due float8)")
        let mending = DueTimes.Mending(
            PostgresStatement(
                "DELETE FROM put_off WHERE id = ANY (ARRAY(SELECT id FROM put_off WHERE due > $1 ORDER BY id LIMIT $2))"
            ),
            farthestSeconds: 100)
        func putOff(_ count: Int) async throws {
            try await database.run("INSERT INTO put_off (due) SELECT 101 FROM generate_series(1, \(count))")
        }
        let start = ContinuousClock.now
        func left(after seconds: Int) async throws -> Int {
            try await database.pool.run { try mending.mendNowAndThen(in: $0, at: start + .seconds(seconds)) }
            return try await database.number("SELECT count(*) FROM put_off")
        }
        try await putOff(1_500)
        #expect(try await left(after: 0) == 500)
        #expect(try await left(after: 1) == 0)
        try await putOff(1)
        #expect(try await left(after: 60) == 1)
        #expect(try await left(after: 61) == 0)
    }
}
