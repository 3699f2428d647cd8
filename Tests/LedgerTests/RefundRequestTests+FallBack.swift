import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import Ledger

extension RefundRequestTests {
    @Test("if a player was erased, the player's published refund requests have no claims after the database fell back")
    func erased() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000"], in: ledger)
        _ = try await enter([Self.request("1000")], in: database)
        var random = SystemRandomNumberGenerator()
        let pseudonym = Pseudonym.make(using: &random)
        try await database.run(
            """
            INSERT INTO erasures (pseudonym, operator, done_at) VALUES ('\(pseudonym)', 'ann', now());
            UPDATE refund_requests SET player_id = '\(pseudonym)'
            """)
        let requests = ["1000", "2000"].map { Self.request($0) }
        try await PostgresClaims(pool: database.pool).enter(
            requests.map { request in
                PublishedClaim.refundRequest(
                    event: OutcomeEvent.eventID(refundRequest: request.id).description, of: request.transactionID,
                    playerID: "player-1", bundleID: request.bundleID)
            }, noticedAt: Sample.noon)
        let claimed = PublishedClaim.id(ofRefundRequest: requests[1].id).text
        #expect(
            try await database.number(
                "SELECT count(*) FILTER (WHERE original_transaction_id = '\(claimed)') * 10 + count(*) FROM claims "
                    + "WHERE original_transaction_id LIKE 'refund request %'") == 11)
        await ledger.close()
    }
}
