import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

extension OpenRefundRequestsConformance {
    @Test(
        "after the database fell back, a refund request's event names the player whom the published event named",
        arguments: Implementation.allCases)
    func published(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let requests = ["1000", "1001", "1002"].map { Self.request($0) }
            // This request came before the backup, when the ledger did not know its transaction.
            #expect(try await subject.enter(requests[1]) == nil)
            // The player of an event never changes, so a later event with another player has no effect.
            for player: PlayerID in ["player-9", "player-8"] {
                try await subject.claims.enter(
                    requests.prefix(2).map { request in
                        PublishedClaim.refundRequest(
                            event: OutcomeEvent.eventID(refundRequest: request.id).description,
                            of: request.transactionID, playerID: player, bundleID: request.bundleID)
                    }, noticedAt: Subject.now.adding(milliseconds: 3_600_000))
            }
            for (offset, request) in requests.enumerated() {
                try await subject.submit(request.transactionID.text, offset: Int64(offset))
            }
            #expect(try await subject.enter(requests[0])?.playerID == "player-9")
            #expect(try await subject.enter(requests[2])?.playerID == "player-1")
            try await subject.endLeases()
            _ = try await subject.lease(waiting: 600)
            let told = try await subject.told()
            #expect(told.count == 3)
            for event in told { #expect(event.playerID == (event.subject == "1002" ? "player-1" : "player-9")) }
        }
    }
}
