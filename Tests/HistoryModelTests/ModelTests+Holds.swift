import HistoryModel
import Testing

/// Tests of repeated answers, token disputes, refused holds, and events after a restore of the database.
extension ModelTests {
    /// Returns an answer about one transaction.
    private func answer(
        _ verdict: String, to player: String, of submission: String, about transaction: String, at time: String = "05"
    ) throws -> Event {
        let parts = verdict.split(separator: " ").map(String.init)
        let type = parts[0] == "held" ? "held" : "rejected"
        let text = """
            {"event_id":"\(verdict) of \(submission)","type":"receipt.\(type)","player_id":"\(player)",\
            "occurred_at":"2026-01-01T00:00:\(time)Z","submission_id":"\(submission)","bundle_id":"\(Self.app)",\
            "reason":"\(parts[1])","transactions":[{"transaction_id":"\(transaction)","product_id":"\(Self.gems)",\
            "outcome":"\(parts[0])","reason":"\(parts[1])"}]}
            """
        return try #require(
            Event(place: Place(partition: 0, offset: 9), key: Array(player.utf8), value: Array(text.utf8)))
    }

    private func at(_ time: String) -> String { #","occurred_at":"2026-01-01T00:00:\#(time)Z""# }

    @Test("if a granted submission is repeated, the history model requires the grant event again, even after a refund")
    func winner() throws {
        var facts = facts()
        facts.purchases["1"]?.refunds = [RefundWord(signedAt: 1_100_000, thousandths: 100_000, isDelivered: true)]
        facts.submissions.append(facts.submissions[0])
        let granted = try event("receipt.granted", "1", id: "e1", members: at("04.5"))
        let revoked = try event("receipt.revoked", "1", id: "e2", revision: 2, members: #","units":10"#)
        let rows = ["1": row(isInForce: false)]
        let refused = try answer("rejected cancelled", to: "anna", of: "s1", about: "1")
        #expect(rules(facts, [granted, revoked, refused], rows) == [.winners])
        #expect(rules(facts, [granted, revoked, granted], rows).isEmpty)
        // Kafka may deliver an earlier answer again after the grant.
        let before = try answer("rejected cancelled", to: "anna", of: "s1", about: "1", at: "04.25")
        #expect(rules(facts, [granted, revoked, before], rows).isEmpty)
        facts.conditions.wasPutBack = true
        #expect(rules(facts, [granted, revoked, refused], rows).isEmpty)
    }

    @Test("if a restore lost an operator's order, the history model requires a new event to have the highest revision")
    func newestSincePutBack() throws {
        var facts = facts()
        facts.conditions.wasPutBack = true
        facts.conditions.putBackAt = "2026-01-01T00:00:05.000Z"
        facts.conditions.lostOrders = ["1"]
        let events = [
            try event("receipt.granted", "1", id: "e1"),
            try event("receipt.revoked", "1", id: "e2", revision: 2, members: at("01")),
            try event("receipt.reinstated", "1", id: "e3", revision: 3, members: at("02")),
        ]
        #expect(rules(facts, events, ["1": row(isInForce: false)]).isEmpty)
        let again = try event("receipt.revoked", "1", id: "e2", revision: 2, members: at("06"))
        #expect(rules(facts, events + [again], ["1": row(isInForce: false)]) == [.ledger])
        let above = try event("receipt.revoked", "1", id: "e4", revision: 9, members: at("06"))
        #expect(rules(facts, events + [above], ["1": row(isInForce: false)]).isEmpty)
    }

    @Test("the history model reports two contents of one revocation event, even if a restore lost an operator's order")
    func revocationOfLostOrder() throws {
        var facts = facts()
        facts.conditions.wasPutBack = true
        facts.conditions.lostOrders = ["1"]
        func revoked(_ reason: String) throws -> Event {
            try event("receipt.revoked", "1", id: "e2", revision: 2, members: #","reason":"\#(reason)""#)
        }
        let granted = try event("receipt.granted", "1", id: "e1")
        let both = [granted, try revoked("revoked_by_operator"), try revoked("refund")]
        #expect(rules(facts, both, ["1": row(isInForce: false)]) == [.oneContent])
        #expect(rules(facts, [both[0], both[2], both[2]], ["1": row(isInForce: false)]).isEmpty)
    }

    /// Returns the broken rules after ben submitted another purchase with the token, and anna's purchase was then held
    /// as disputed.
    private func disputed(isGranted: Bool, isRequired: Bool) throws -> Set<Difference.Rule> {
        var facts = facts()
        facts.apps[Self.app]?.requiresToken = isRequired
        facts.purchases["1"]?.token = "t"
        facts.purchases["2"] = Purchase(
            id: "2", originalID: "2", bundleID: Self.app, productID: isGranted ? Self.gems : "unknown",
            kind: .consumable,
            quantity: 10, purchasedAt: 1_000_000, account: "a", payer: "anna")
        facts.purchases["2"]?.token = "t"
        facts.submissions[0].token = "t"
        var first = submission("s2", by: "ben", of: ["2"], offset: 1)
        first.token = "t"
        facts.submissions.insert(first, at: 0)
        let answered =
            isGranted
            ? try event("receipt.granted", "2", id: "e2", to: "ben", of: "s2")
            : try answer("held unknown_product", to: "ben", of: "s2", about: "2")
        let held = try answer("held ownership_disputed", to: "anna", of: "s1", about: "1")
        return rules(facts, [answered, held], isGranted ? ["2": row("ben")] : [:])
    }

    @Test("the history model allows a token dispute only if an earlier grant has the token and the app requires tokens")
    func learntTokens() throws {
        #expect(try disputed(isGranted: true, isRequired: true).isEmpty)
        #expect(try disputed(isGranted: false, isRequired: true) == [.answeredRightly, .paidArrives])
        #expect(try disputed(isGranted: true, isRequired: false) == [.answeredRightly, .paidArrives])
    }

    @Test("after an operator refused another player's hold, the history model requires a grant to the token's player")
    func refusedHold() throws {
        var facts = facts()
        facts.apps[Self.app]?.missed = .grant
        facts.apps[Self.app]?.accounts = ["t": ["anna"]]
        facts.purchases["1"]?.token = "t"
        facts.purchases["1"]?.toldAt = [1_000_100]
        facts.submissions = [submission("s1", by: "ben", of: ["1"], offset: 0)]
        facts.submissions[0].oddity = .decidingFact
        let held = try answer("held unreadable_transaction", to: "ben", of: "s1", about: "1")
        let refused = try answer("rejected refused_by_operator", to: "ben", of: "s1", about: "1")
        #expect(rules(facts, [held], [:]).isEmpty)
        facts.operators = [OperatorAct(.refuse, "1", submissions: 1)]
        #expect(rules(facts, [held, refused], [:]) == [.paidArrives])
        let granted = try event("receipt.granted", "1", id: "e1", of: "apple-1", members: #","source":"notification""#)
        #expect(rules(facts, [held, refused, granted], ["1": row()]).isEmpty)
        // Anna submits after the refusal. The worker remembers the refusal only for ben.
        facts.apps[Self.app]?.accounts = [:]
        facts.submissions.append(submission("s2", by: "anna", of: ["1"], offset: 1))
        #expect(rules(facts, [held, refused], [:]).contains(.paidArrives))
        facts.apps[Self.app]?.accounts = ["t": ["anna"]]
        facts.submissions.removeLast()
        // The operator also refuses anna's hold.
        let own = try answer("rejected refused_by_operator", to: "anna", of: "apple-1", about: "1")
        #expect(!rules(facts, [held, refused, own], [:]).contains(.paidArrives))
    }
}
