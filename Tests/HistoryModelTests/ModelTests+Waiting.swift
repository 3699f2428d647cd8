import HistoryModel
import Testing

/// Tests of renewals that nobody submits, of daily limits that end, and of the ledger between two steps.
extension ModelTests {
    @Test("the history model requires the grant of a renewal that Apple reported after the first period was granted")
    func renewal() throws {
        var facts = facts()
        facts.apps[Self.app]?.followsRenewals = true
        facts.purchases = ["1": period("1", line: "10"), "2": period("2", of: "1", line: "11")]
        facts.purchases["2"]?.toldAt = [1_500_000]
        let granted = try event("receipt.granted", "1", id: "e1", product: Self.month, quantity: 1)
        let row = GrantRow(player: "anna", product: Self.month, quantity: 1, isInForce: true)
        #expect(rules(facts, [granted], ["1": row]).isEmpty)
        facts.purchases["2"]?.isToldToOwner = true
        #expect(rules(facts, [granted], ["1": row]) == [.paidArrives])
        facts.purchases["2"]?.refunds = [RefundWord(signedAt: 1_600_000, thousandths: 100_000, isDelivered: true)]
        #expect(rules(facts, [granted], ["1": row]).isEmpty)
    }

    @Test("when a daily limit ends, the history model requires the grant of the purchases that the limit held")
    func dailyLimit() throws {
        var facts = facts()
        facts.apps[Self.app]?.limited = [Self.gems]
        let held = try #require(
            Event(
                place: Place(partition: 0, offset: 0), key: Array("anna".utf8),
                value: Array(
                    """
                    {"event_id":"e1","type":"receipt.held","player_id":"anna","submission_id":"s1",\
                    "bundle_id":"\(Self.app)","reason":"daily_limit","transactions":[{"transaction_id":"1",\
                    "product_id":"\(Self.gems)","outcome":"held","reason":"daily_limit"}]}
                    """.utf8)))
        #expect(rules(facts, [held], [:]) == [.paidArrives])
        let granted = try event("receipt.granted", "1", id: "e2", members: #","occurred_at":"2026-01-01T00:00:05Z""#)
        #expect(rules(facts, [held, granted], ["1": row()]).isEmpty)
    }

    @Test("between two steps of a history, the history model reports a grant event that has no ledger row")
    func atRest() throws {
        var seen = Seen()
        seen.events = [try event("receipt.granted", "1", id: "e1")]
        #expect(Model(facts(), seen).differencesAtRest().map(\.rule) == [.ledger])
        seen.grants = ["1": row()]
        #expect(Model(facts(), seen).differencesAtRest().isEmpty)
    }
}
