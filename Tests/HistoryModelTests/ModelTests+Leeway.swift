import HistoryModel
import Testing

/// Tests that the model allows every behaviour that the contract allows.
extension ModelTests {
    @Test(
        "until a full refund's reversal arrives, the history model allows a later, smaller refund to change nothing",
        arguments: [true, false])
    func smallerRefund(isReversalDelivered: Bool) throws {
        var facts = facts()
        facts.purchases["1"]?.refunds = [
            RefundWord(signedAt: 1_100_000, thousandths: 100_000, isDelivered: true),
            RefundWord(signedAt: 1_200_000, thousandths: 0, isReversal: true, isDelivered: isReversalDelivered),
            RefundWord(signedAt: 1_300_000, thousandths: 33_333, isDelivered: true),
        ]
        let events = [
            try event("receipt.granted", "1", id: "e1"),
            try event("receipt.revoked", "1", id: "e2", revision: 2, members: #","units":10"#),
        ]
        #expect(rules(facts, events, ["1": row(isInForce: false)]) == (isReversalDelivered ? [.refunds] : []))
    }

    @Test(
        "the history model allows an offset commit only after all earlier records are durable",
        arguments: [true, false])
    func commitsAhead(isDurable: Bool) throws {
        let facts = facts()
        let place = facts.submissions[0].place
        var seen = Seen()
        seen.events = [try event("receipt.granted", "1", id: "e1")]
        seen.grants = ["1": row()]
        seen.commits = [CommitLook(committed: [0: place.offset + 1], durable: isDurable ? [place] : [])]
        #expect(Set(Model(facts, seen).differences().map(\.rule)) == (isDurable ? [] : [.commits]))
    }

    @Test("the history model reports a request to Apple that a Retry-After forbids", arguments: [0, 1])
    func spared(asked: Int) throws {
        var seen = Seen()
        seen.events = [try event("receipt.granted", "1", id: "e1")]
        seen.grants = ["1": row()]
        seen.quiets = [Quiet(cause: "Retry-After", asked: asked, allowed: 0)]
        #expect(Set(Model(facts(), seen).differences().map(\.rule)) == (asked == 0 ? [] : [.appleSpared]))
    }

    /// Returns an answer about transaction 1.
    private func answer(_ verdict: String, to player: String, of submission: String) throws -> Event {
        let parts = verdict.split(separator: " ").map(String.init)
        let type = parts[0] == "held" ? "held" : "rejected"
        let text = """
            {"event_id":"answer of \(submission)","type":"receipt.\(type)","player_id":"\(player)",\
            "submission_id":"\(submission)","bundle_id":"\(Self.app)","reason":"\(parts[1])",\
            "transactions":[{"transaction_id":"1","product_id":"\(Self.month)","outcome":"\(parts[0])",\
            "reason":"\(parts[1])"}]}
            """
        return try #require(
            Event(place: Place(partition: 0, offset: 9), key: Array(player.utf8), value: Array(text.utf8)))
    }

    @Test(
        "the history model allows already_granted for a granted period's second id, even after an operator's transfer")
    func answerBeforeTransfer() throws {
        var facts = facts()
        facts.purchases["1"] = period("1", line: "line 2")
        facts.purchases["2"] = period("2", line: "line 2")
        for later in 10..<30 {
            var purchase = period("\(later)", line: "line \(later)")
            purchase.previousOriginalID = "2"
            facts.purchases[purchase.id] = purchase
        }
        facts.operators = [OperatorAct(.transfer("ben"), "2")]
        var events = [
            try event("receipt.granted", "2", id: "e2", product: Self.month, quantity: 1),
            try answer("already_granted already_granted", to: "anna", of: "s1"),
        ]
        for later in 10..<30 {
            let granted = try event(
                "receipt.granted", "\(later)", id: "e\(later)", to: "ben", of: "s2", product: Self.month, quantity: 1)
            events.append(granted)
        }
        #expect(!rules(facts, events, [:]).contains(.answeredRightly))
    }

    @Test(
        "once an event shows one period under two original ids, the history model requires one owner of both ids",
        arguments: [true, false])
    func secondOriginal(isShownBefore: Bool) throws {
        var facts = facts()
        facts.submissions = []
        facts.purchases["1"] = period("1", line: "line 1")
        facts.purchases["2"] = period("2", line: "line 1")
        facts.purchases["3"] = period("3", of: "2", line: "line 2")
        func at(_ second: Int) -> String { #","occurred_at":"2026-01-01T00:00:0\#(second)Z""# }
        let copy =
            #"{"transaction_id":"2","product_id":"\#(Self.month)","outcome":"rejected","reason":"owned_by_other_player"}"#
        let shown = """
            {"event_id":"shown","type":"receipt.rejected","player_id":"ben","submission_id":"s2",\
            "bundle_id":"\(Self.app)","reason":"owned_by_other_player","transactions":[\(copy)]\(at(isShownBefore ? 2 : 4))}
            """
        let events = [
            try event("receipt.granted", "1", id: "e1", product: Self.month, quantity: 1, members: at(1)),
            try #require(
                Event(place: Place(partition: 0, offset: 9), key: Array("ben".utf8), value: Array(shown.utf8))),
            try event(
                "receipt.granted", "3", id: "e3", to: "ben", of: "s3", product: Self.month, quantity: 1, members: at(3)),
        ]
        #expect(rules(facts, events, [:]).contains(.onePlayer) == isShownBefore)
    }

    @Test("after a transfer of a subscription, the history model does not require the grant of a period to the buyer")
    func arrivalAfterTransfer() throws {
        var facts = facts()
        facts.purchases["1"] = period("1", line: "line 1")
        var receipt = Submission(
            id: "s1", player: "anna", bundleID: Self.app, form: .receipt, quality: .proven, holds: ["1"],
            signedAt: 1_000_500)
        receipt.judgedAt = 1_001_000
        facts.submissions = [receipt]
        let refused = try answer("rejected owned_by_other_player", to: "anna", of: "s1")
        #expect(rules(facts, [refused], [:]).contains(.paidArrives))
        facts.operators = [OperatorAct(.transfer("ben"), "1")]
        #expect(!rules(facts, [refused], [:]).contains(.paidArrives))
    }

    @Test("the history model allows the grant of an expired period only within its grace period")
    func graceEnd() throws {
        var facts = facts()
        facts.apps[Self.app]?.followsRenewals = false
        facts.purchases["1"] = period("1", line: "line 1")
        facts.purchases["1"]?.expiresAt = 1_000_600
        var receipt = Submission(
            id: "s1", player: "anna", bundleID: Self.app, form: .receipt, quality: .proven, holds: ["1"],
            signedAt: 1_000_500)
        receipt.judgedAt = 1_001_000
        facts.submissions = [receipt]
        let granted = try event("receipt.granted", "1", id: "e1", product: Self.month, quantity: 1)
        #expect(rules(facts, [granted], [:]).contains(.grantsAreEarned))
        facts.purchases["1"]?.graceEnd = 1_002_000
        #expect(!rules(facts, [granted], [:]).contains(.grantsAreEarned))
    }

    @Test("the history model allows a held answer if an earlier receipt's answer from Apple may have caused the hold")
    func heldBesideReceipt() throws {
        var facts = facts()
        facts.apps[Self.app]?.requiresToken = true
        facts.purchases["1"] = period("1", line: "line 1")
        facts.purchases["2"] = period("2", line: "line 2")
        func receipt(_ id: String, token: String?) -> Submission {
            var receipt = Submission(
                id: id, player: "anna", bundleID: Self.app, form: .receipt, quality: .proven, holds: ["2"],
                signedAt: 1_000_500)
            receipt.token = token
            receipt.judgedAt = 1_001_000
            return receipt
        }
        facts.submissions = [receipt("s1", token: "t"), receipt("s2", token: nil)]
        let held = try answer("held binding_missing", to: "anna", of: "s2")
        #expect(!rules(facts, [held], [:]).contains(.answeredRightly))
        facts.submissions[0].token = nil
        #expect(rules(facts, [held], [:]).contains(.answeredRightly))
    }
}
