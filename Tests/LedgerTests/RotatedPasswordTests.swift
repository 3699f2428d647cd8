import Postgres
import Testing

@Suite("A connection string that is replaced while a process runs")
struct RotatedPasswordTests {
    @Test("a new connection uses the latest connection string, or the first string if the latest cannot be read")
    func newest() async throws {
        let database = try await LedgerDatabase()
        let good = database.uri
        // No server listens on port 1, so a session that connects has used the latest URI.
        let nowhere = "postgresql://receiptd@127.0.0.1:1/receiptd"
        func pool(_ uri: String, latest: String?) -> PostgresPool {
            PostgresPool(
                configuration: PostgresConfiguration(uri: uri, latestURI: { latest }, applicationName: "tests"), size: 1
            )
        }
        let rotated = pool(nowhere, latest: good)
        #expect(try await rotated.run { try $0.execute(PostgresStatement("SELECT 1::int8 AS one")).int8(0, 0) } == 1)
        await rotated.close()
        for unreadable in [nil, "", "postgresql://["] as [String?] {
            let kept = pool(good, latest: unreadable)
            #expect(try await kept.run { try $0.execute(PostgresStatement("SELECT 1::int8 AS one")).int8(0, 0) } == 1)
            await kept.close()
        }
    }
}
