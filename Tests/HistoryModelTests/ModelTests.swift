import Foundation
import HistoryModel
import Testing

/// These tests break each rule, because a model that never reports a difference would accept every history.
@Suite("The history model: the contract as code")
struct ModelTests {
    static let app = "com.example.app"
    static let gems = "com.example.app.gems"
    static let month = "com.example.app.month"

    /// Returns the facts of one consumable that anna bought and submitted.
    func facts() -> Facts {
        var app = App(bundleID: Self.app)
        app.products = [Self.gems: .active, Self.month: .active]
        var facts = Facts()
        facts.apps[Self.app] = app
        facts.conditions.now = 2_000_000
        facts.purchases["1"] = Purchase(
            id: "1", originalID: "1", bundleID: Self.app, productID: Self.gems, kind: .consumable, quantity: 10,
            purchasedAt: 1_000_000, account: "a", payer: "anna")
        facts.submissions.append(submission("s1", by: "anna", of: ["1"], offset: 0))
        return facts
    }

    func submission(_ id: String, by player: String, of ids: [String], offset: Int64) -> Submission {
        var submission = Submission(
            id: id, player: player, bundleID: Self.app, form: .signedTransaction, quality: .proven, holds: ids,
            signedAt: 1_000_500)
        submission.judgedAt = 1_001_000
        submission.place = Place(partition: 0, offset: offset)
        return submission
    }

    func period(_ id: String, of original: String? = nil, line: String) -> Purchase {
        var period = Purchase(
            id: id, originalID: original ?? id, bundleID: Self.app, productID: Self.month, kind: .autoRenewable,
            quantity: 1,
            purchasedAt: 1_000_000, account: "a", payer: "anna")
        period.line = line
        period.expiresAt = 3_000_000
        return period
    }

    /// - Parameter members: the members besides those of every transaction's event.
    func event(
        _ type: String, _ transaction: String, id: String, to player: String = "anna", of submission: String = "s1",
        product: String = gems, revision: Int = 1, quantity: Int = 10, members: String = "",
        beside others: [String] = []
    ) throws -> Event {
        let entries = ([transaction] + others).map { id in
            #"{"transaction_id":"\#(id)","product_id":"\#(product)","outcome":"granted","reason":null}"#
        }.joined(separator: ",")
        let text = """
            {"event_id":"\(id)","type":"\(type)","player_id":"\(player)","submission_id":"\(submission)",\
            "bundle_id":"\(Self.app)","transaction_id":"\(transaction)","original_transaction_id":"\(transaction)",\
            "product_id":"\(product)","quantity":\(quantity),"environment":"Production",\
            "purchased_at":"2026-01-01T00:00:00Z","revision":\(revision)\(members),\
            "transactions":[\(type == "receipt.granted" ? entries : "")]}
            """
        return try #require(
            Event(place: Place(partition: 0, offset: 0), key: Array(player.utf8), value: Array(text.utf8)))
    }

    func row(_ player: String = "anna", isInForce: Bool = true) -> GrantRow {
        GrantRow(player: player, product: Self.gems, quantity: 10, isInForce: isInForce)
    }

    func rules(_ facts: Facts, _ events: [Event], _ grants: [String: GrantRow]) -> Set<Difference.Rule> {
        var seen = Seen()
        seen.events = events
        seen.grants = grants
        return Set(Model(facts, seen).differences().map(\.rule))
    }

    @Test("the history model accepts a grant to the player who proved the purchase")
    func sound() throws {
        let granted = try event("receipt.granted", "1", id: "e1")
        #expect(rules(facts(), [granted, granted], ["1": row()]).isEmpty)
    }

    @Test("the history model reports a proven purchase that was never granted, and a missing answer")
    func lost() {
        #expect(rules(facts(), [], [:]) == [.paidArrives, .answered])
    }

    @Test("the history model reports a grant event without a ledger row, and a ledger row without an event")
    func ledger() throws {
        #expect(try rules(facts(), [event("receipt.granted", "1", id: "e1")], [:]).contains(.ledger))
        #expect(rules(facts(), [], ["1": row()]).contains(.ledger))
    }

    @Test("the history model reports two contents of the same event id, even if the contents differ in only one member")
    func contents() throws {
        let events = [
            try event("receipt.granted", "1", id: "e1"),
            try event("receipt.granted", "1", id: "e1", members: #","order_id":"x""#),
        ]
        #expect(rules(facts(), events, ["1": row()]) == [.oneContent])
    }

    @Test("the history model reports a purchase that was granted to two players")
    func twoPlayers() throws {
        var facts = facts()
        facts.submissions.append(submission("s2", by: "ben", of: ["1"], offset: 1))
        let events = [
            try event("receipt.granted", "1", id: "e1"),
            try event("receipt.granted", "1", id: "e2", to: "ben", of: "s2", revision: 2),
        ]
        #expect(rules(facts, events, ["1": row()]).isSuperset(of: [.onePlayer, .oneGrant]))
    }

    @Test(
        "the history model reports a grant to a player who never proved the purchase, or of a purchase that nobody made"
    )
    func unearned() throws {
        let other = try event("receipt.granted", "1", id: "e1", to: "ben")
        #expect(rules(facts(), [other], ["1": row("ben")]).contains(.grantsAreEarned))
        let invented = try event("receipt.granted", "2", id: "e1")
        #expect(rules(facts(), [invented], ["2": row()]).contains(.grantsAreEarned))
    }

    /// Returns the broken rules if anna got the purchase without sending its token, and ben, who sends `token`, gets
    /// `verdict`.
    private func answer(_ verdict: String, token: String?) throws -> Set<Difference.Rule> {
        var facts = facts()
        facts.purchases["1"]?.token = "t"
        var second = submission("s2", by: "ben", of: ["1"], offset: 1)
        second.token = token
        facts.submissions.append(second)
        let parts = verdict.split(separator: " ").map(String.init)
        let text = """
            {"event_id":"e2","type":"receipt.\(parts[0])","player_id":"ben","submission_id":"s2",\
            "bundle_id":"\(Self.app)","reason":"\(parts[1])","transactions":[{"transaction_id":"1",\
            "product_id":"\(Self.gems)","outcome":"\(parts[0])","reason":"\(parts[1])"}]}
            """
        let answer = try #require(
            Event(place: Place(partition: 0, offset: 1), key: Array("ben".utf8), value: Array(text.utf8)))
        return rules(facts, [try event("receipt.granted", "1", id: "e1"), answer], ["1": row()])
    }

    @Test(
        "the history model requires ownership_disputed if a second player sends the purchase's token, else forbids it")
    func disputes() throws {
        #expect(try !answer("held ownership_disputed", token: "t").contains(.answeredRightly))
        #expect(try answer("rejected owned_by_other_player", token: "t").contains(.answeredRightly))
        #expect(try answer("held ownership_disputed", token: nil).contains(.answeredRightly))
        #expect(try !answer("rejected owned_by_other_player", token: nil).contains(.answeredRightly))
    }

    @Test(
        "the history model allows owned_by_other_player for a receipt only if another player may own a purchase in it")
    func receiptOfAnother() throws {
        for isHeld in [true, false] {
            var facts = facts()
            facts.purchases["2"] = period("2", line: "1")
            facts.submissions[0].holds = []
            var thief = submission("s2", by: "ben", of: ["2"], offset: 1)
            thief.oddity = isHeld ? .decidingFact : nil
            var receipt = Submission(
                id: "s3", player: "anna", bundleID: Self.app, form: .receipt, quality: .proven, holds: ["2"],
                signedAt: 1_000_500)
            receipt.judgedAt = 1_001_000
            facts.submissions += [thief, receipt]
            let text = """
                {"event_id":"e3","type":"receipt.rejected","player_id":"anna","submission_id":"s3","bundle_id":"\(Self.app)",\
                "reason":"owned_by_other_player","transactions":[{"transaction_id":"1","product_id":"\(Self.gems)",\
                "outcome":"rejected","reason":"owned_by_other_player"}]}
                """
            let answer = try #require(
                Event(place: Place(partition: 0, offset: 2), key: Array("anna".utf8), value: Array(text.utf8)))
            #expect(rules(facts, [answer], [:]).contains(.answeredRightly) == !isHeld)
        }
    }

    @Test("the history model reports two grants of the same paid period under two transaction ids")
    func period() throws {
        var facts = facts()
        facts.purchases = ["1": period("1", line: "7"), "2": period("2", line: "7")]
        facts.submissions = [submission("s1", by: "anna", of: ["1", "2"], offset: 0)]
        func granted(_ id: String) throws -> Event {
            try event("receipt.granted", id, id: "e\(id)", product: Self.month, quantity: 1)
        }
        #expect(try rules(facts, [granted("1"), granted("2")], ["1": row(), "2": row()]).contains(.oneGrant))
        #expect(try !rules(facts, [granted("1")], ["1": row()]).contains(.oneGrant))
    }

    @Test("the history model reports a grant of a period that had ended when the submission's record was written")
    func expired() throws {
        var facts = facts()
        facts.purchases = ["1": period("1", line: "7")]
        facts.submissions[0].judgedAt = 3_000_001
        let granted = try event("receipt.granted", "1", id: "e1", product: Self.month, quantity: 1)
        #expect(rules(facts, [granted], ["1": row()]).contains(.grantsAreEarned))
    }

    @Test("the history model requires the newest event to revoke as many units as Apple refunded", arguments: [3, 7])
    func units(told: Int) throws {
        var facts = facts()
        facts.purchases["1"]?.refunds = [RefundWord(signedAt: 1, thousandths: 66_667, isDelivered: true)]
        let events = [
            try event("receipt.granted", "1", id: "e1"),
            try event("receipt.revoked", "1", id: "e2", revision: 2, members: #","units":\#(told)"#),
        ]
        #expect(rules(facts, events, ["1": row(isInForce: false)]) == (told == 7 ? [] : [.refunds]))
    }

    @Test("the history model reports grants of one decision out of order, and a subscription row unlike its event")
    func orderAndSubscriptions() throws {
        let rows = ["1": row(), "2": row()]
        let grants = [
            try event("receipt.granted", "2", id: "e2", beside: ["1"]),
            try event("receipt.granted", "1", id: "e1", beside: ["2"]),
        ]
        #expect(rules(facts(), grants, rows).contains(.order))
        #expect(!rules(facts(), grants.reversed(), rows).contains(.order))
        let ofTwoDecisions = [try event("receipt.granted", "2", id: "e2"), try event("receipt.granted", "1", id: "e1")]
        #expect(!rules(facts(), ofTwoDecisions, rows).contains(.order))
        for renewal in ["month", "year"] {
            var seen = Seen()
            seen.subscriptions = [
                "7": SubscriptionFact(state: "active", product: "month", willRenew: true, renewalProduct: "year")
            ]
            let text = """
                {"event_id":"e7","type":"subscription.changed","player_id":"anna","original_transaction_id":"7","revision":1,\
                "state":"active","product_id":"month","will_renew":true,"renewal_product_id":"\(renewal)"}
                """
            seen.events = [
                try #require(
                    Event(place: Place(partition: 0, offset: 0), key: Array("anna".utf8), value: Array(text.utf8)))
            ]
            let isTold = Model(Facts(), seen).differences().map(\.rule).contains(.subscriptions)
            #expect(isTold == (renewal == "month"))
        }
    }

    @Test("the history model reports two events with the same revision")
    func revisions() throws {
        var facts = facts()
        facts.purchases["1"]?.refunds = [RefundWord(signedAt: 1, thousandths: 100_000, isDelivered: true)]
        let events = [
            try event("receipt.granted", "1", id: "e1"),
            try event("receipt.revoked", "1", id: "e2", members: #","units":10"#),
        ]
        #expect(rules(facts, events, ["1": row(isInForce: false)]).contains(.revisions))
    }

    @Test("the history model reports a submission that became a dead letter, even if its purchase was granted")
    func deadLetter() throws {
        var facts = facts()
        facts.submissions.append(submission("s2", by: "anna", of: ["1"], offset: 1))
        var seen = Seen()
        seen.events = [try event("receipt.granted", "1", id: "e1")]
        seen.grants = ["1": row()]
        seen.deadLetters = [DeadLetter(reason: "crashed", place: Place(partition: 0, offset: 1))]
        #expect(Model(facts, seen).differences().map(\.rule) == [.answered])
    }

    @Test("the history model reports a malformed record that has neither a dead letter nor an answer")
    func malformed() {
        var facts = facts()
        facts.submissions[0] = Submission(
            id: "s1", player: "anna", bundleID: Self.app, form: .receipt, quality: .malformed, holds: ["1"],
            signedAt: 1_000_500)
        #expect(Model(facts, Seen()).differences().map(\.rule) == [.answered, .answered])
    }

    @Test("the history model accepts a pseudonym as owner of an erased player's grant, and reports a second grant")
    func erased() throws {
        var facts = facts()
        facts.conditions.erased = ["anna"]
        let granted = try event("receipt.granted", "1", id: "e1")
        #expect(rules(facts, [granted], ["1": row("pseudonym")]).isEmpty)
        let second = try event("receipt.granted", "1", id: "e2", to: "ben", of: "s1", revision: 2)
        #expect(rules(facts, [granted, second], ["1": row("pseudonym")]).contains(.oneGrant))
    }
}
