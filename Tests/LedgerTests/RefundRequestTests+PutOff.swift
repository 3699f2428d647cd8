import Fulfillment
import NamesAndTimes
import Testing

@testable import Ledger

extension RefundRequestTests {
    @Test("the game's report makes a postponed refund request due, unless the postponement counted as a try")
    func putOff() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000", "1001"], finishes: true, in: ledger)
        try await database.run("DELETE FROM outbox; UPDATE finishes SET due_at = now()")
        let (store, finishes) = (
            PostgresRefundRequests(pool: database.pool), PostgresFinishes(pool: database.pool)
        )
        _ = try await enter([Self.request("1000"), Self.request("1001")], in: database)
        for one in try await store.leaseDueRequests(limit: 5, waitSeconds: 0, at: Sample.noon) {
            try await store.putOff(one, seconds: 20, countsAsTry: one.request.transactionID == "1000")
        }
        let finish = try #require(try await finishes.leaseDueFinishes(limit: 1).first)
        try await finishes.putOff(finish, seconds: 20)
        for (table, tries) in [("refund_requests", 1), ("refund_requests", 0), ("finishes", 1)] {
            let put = try await database.number(
                """
                SELECT count(*) FROM \(table)
                WHERE tries = \(tries) AND due_at BETWEEN now() + interval '5 s' AND now() + interval '20 s'
                """)
            #expect(put == 1, "\(table) \(tries)")
        }
        // A postponement does not lengthen the row's later leases. Only expired leases do.
        for (table, leases) in [("refund_requests", 2), ("finishes", 1)] {
            #expect(try await database.number("SELECT count(*) FROM \(table) WHERE takes = 0") >= leases, "\(table)")
        }
        // Only the request that no worker tried becomes due.
        _ = try await store.enter(
            ["1000", "1001"].map { ConsumptionReport(transactionID: $0, bundleID: Sample.bundle) })
        let woken = try await store.leaseDueRequests(limit: 5, waitSeconds: 600, at: Sample.noon)
        #expect(woken.map(\.request.transactionID) == ["1001"])
        await ledger.close()
    }
}
