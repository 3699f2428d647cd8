import Fulfillment
import Kafka
import NamesAndTimes
import Testing

@testable import Pipeline

@Suite("The owners of purchases, as published events name them")
struct PublishedOwnersTests {
    private func claim(_ transaction: StoreTransactionID, _ player: PlayerID) -> PublishedClaim {
        PublishedClaim("1000", of: player, in: "com.example.game", published: transaction)
    }

    @Test(
        "a purchase's owner is the player of the latest published grant, in whatever order the worker reads the events")
    func latest() {
        let events: [(claim: PublishedClaim, at: Int64)] = [
            (claim("1000", "first"), 10), (claim("1001", "first"), 20), (claim("1002", "second"), 30),
            (claim("1003", "second"), 40),
        ]
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            var owners = PublishedGrants.Owners()
            for index in order { owners.add(events[index].claim, at: events[index].at) }
            let found = owners.takeAll()
            #expect(found.map(\.playerID) == ["second"] && found.map(\.transactionID) == ["1002"], "\(order)")
            #expect(owners.count == 0)
        }
    }

    @Test("the claim of a published refund request has the event's id and first player, and no granted transaction")
    func refundRequest() {
        let noon = Timestamp(milliseconds: 1_700_000_000_000)
        let request = RefundRequest(
            id: "n-1", transactionID: "1000", originalTransactionID: "1000", bundleID: "com.example.game",
            environment: .production, productID: "gold", reason: nil, signedAt: noon)
        let event = OutcomeEvent.refundRequested(request, by: "player-1", at: noon)
        let claims = PublishedGrants.claims(
            of: ConsumerRecord(
                topicPartition: TopicPartition(topic: "outcomes", partition: 0), offset: 0, value: event.value,
                headers: OutcomeHeaders.of(event, traceparent: nil)))
        #expect(claims.map(\.id) == [PublishedClaim.id(ofRefundRequest: request.id)])
        #expect(claims.map(\.playerID) == ["player-1"])
        #expect(claims.map(\.grantedTransactionID) == [nil])
        for order in [[0, 1], [1, 0]] {
            let later = PublishedClaim.refundRequest(
                event: event.eventID.description, of: "1000", playerID: "player-2", bundleID: "com.example.game")
            let both = [(claims[0], Int64(10)), (later, 20)]
            var owners = PublishedGrants.Owners()
            for index in order { owners.add(both[index].0, at: both[index].1) }
            #expect(owners.takeAll().map(\.playerID) == ["player-1"], "\(order)")
        }
    }
}
