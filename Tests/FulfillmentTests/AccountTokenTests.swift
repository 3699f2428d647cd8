import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Account tokens that the ledger knows")
struct AccountTokenTests {
    private func decision(
        _ id: StoreTransactionID, player: PlayerID, submitted: String? = Sample.token, told: String? = Sample.token,
        use: AccountTokenUse = .holds, verdict: JudgedPurchase.Verdict = .grant(payload: nil),
        account: AppTransactionID? = nil
    ) -> PendingDecision {
        var purchase = Sample.purchase(id)
        purchase.appTransactionID = account
        purchase.appAccountToken = told
        return PendingDecision(
            submission: Sample.submission(Identifier("s-\(id)"), player: player, token: submitted),
            position: Sample.position(), proof: Digest256(hashing: Array(id.text.utf8)),
            verdict: .each([Sample.judged(purchase, .consumable, verdict)]), environment: .production, evidence: nil,
            decidedAt: Sample.recordTime, catalogVersion: 1, traceparent: nil, risk: RiskThresholds(), tokenUse: use)
    }

    /// Settles the decision. Returns the event's kind, reason and signals, such as `held ownership_disputed`.
    private func settle(_ decision: PendingDecision, in view: inout LedgerView) -> String {
        guard let event = decision.settle(in: &view).events.last else { return "nothing" }
        let words = [event.kind.rawValue.split(separator: ".").last.map(String.init), event.reason?.rawValue]
        return (words.compactMap(\.self) + event.risk.map(\.rawValue)).joined(separator: " ")
    }

    @Test("if a thief first submits a buyer's purchase and token, the thief gets a hold, and later the buyer the grant")
    func copied() {
        var view = LedgerView()
        #expect(settle(decision("1", player: "buyer"), in: &view) == "granted")
        #expect(settle(decision("2", player: "thief"), in: &view) == "held ownership_disputed shared_token")
        #expect(view.claims["2"] == LedgerView.Claim(player: nil))
        #expect(settle(decision("2", player: "thief"), in: &view) == "held ownership_disputed shared_token")
        #expect(settle(decision("2", player: "second thief"), in: &view) == "held ownership_disputed shared_token")
        #expect(settle(decision("2", player: "buyer"), in: &view) == "granted")
        #expect(view.claims["2"]?.player == "buyer" && view.holds["2"]?.keys.sorted() == ["second thief", "thief"])
        #expect(settle(decision("2", player: "second thief"), in: &view) == "rejected owned_by_other_player")
        #expect(settle(decision("1", player: "thief"), in: &view) == "rejected owned_by_other_player")
    }

    @Test("an attacker who buys first with a victim's account token can neither block nor get the victim's purchases")
    func firstComeAttacker() {
        var view = LedgerView()
        #expect(settle(decision("1", player: "attacker", account: "70"), in: &view) == "granted")
        #expect(settle(decision("2", player: "victim", account: "71"), in: &view) == "granted shared_token")
        #expect(settle(decision("3", player: "victim", account: "71"), in: &view) == "granted shared_token")
        let copied = "held ownership_disputed shared_token"
        #expect(settle(decision("4", player: "attacker", account: "71"), in: &view) == copied)
        #expect(settle(decision("5", player: "third", account: "71"), in: &view) == copied)
        #expect(settle(decision("6", player: "victim", account: "70"), in: &view) == copied)
        #expect(settle(decision("4", player: "victim", account: "71"), in: &view) == "granted shared_token")
    }

    @Test("a purchase with another player's account token is held, unless the two players' known Apple accounts differ")
    func unknownAccount() {
        var view = LedgerView()
        #expect(settle(decision("1", player: "buyer"), in: &view) == "granted")
        let copied = "held ownership_disputed shared_token"
        #expect(settle(decision("2", player: "other", account: "71"), in: &view) == copied)
        // Submission 3 shows the first player's Apple account. So a purchase of another Apple account is not stolen
        // from this player.
        #expect(settle(decision("3", player: "buyer", account: "70"), in: &view) == "granted")
        #expect(settle(decision("4", player: "other", account: "71"), in: &view) == "granted shared_token")
        #expect(settle(decision("5", player: "other"), in: &view) == copied)
        #expect(settle(decision("6", player: "other", account: "70"), in: &view) == copied)
    }

    @Test(
        "a token dispute names the token's first player; the ledger stores a bounded number of Apple accounts per token"
    )
    func disputes() throws {
        var view = LedgerView()
        for number in 0..<10 {
            let bought = decision(
                Identifier("1\(number)"), player: "buyer", account: AppTransactionID("\(70 + number)"))
            let isMany = number + 1 >= RiskThresholds().manyAccounts
            #expect(settle(bought, in: &view) == (isMany ? "granted many_accounts" : "granted"))
        }
        let key = AccountTokenKey(bundleID: Sample.bundle, token: Sample.token)
        #expect(view.tokens[key]?.accounts.count == AccountTokenFacts.maximumAccounts)
        let copied = decision("2", player: "thief", account: "70")
        let settlement = copied.settle(in: &view)
        let dispute = try #require(copied.disputedTokens(in: settlement, view).first)
        #expect(dispute.firstPlayer == "buyer" && dispute.player == "thief" && dispute.transactionID == "2")
        let other = decision("3", player: "buyer", account: "70")
        #expect(other.disputedTokens(in: other.settle(in: &view), view).isEmpty)
    }

    @Test("if the app requires no account token, a purchase with another player's token is granted with a risk signal")
    func signal() {
        var view = LedgerView()
        #expect(settle(decision("1", player: "a", use: .signals), in: &view) == "granted")
        #expect(settle(decision("2", player: "b", use: .signals), in: &view) == "granted shared_token")
        #expect(settle(decision("3", player: "c", submitted: nil, use: .signals), in: &view) == "granted shared_token")
        #expect(settle(decision("4", player: "d", told: nil, use: .signals), in: &view) == "granted shared_token")
        #expect(settle(decision("5", player: "a", use: .signals), in: &view) == "granted")
        #expect(settle(decision("6", player: "b", submitted: nil, told: nil, use: .signals), in: &view) == "granted")
        #expect(settle(decision("7", player: "e", use: .none), in: &view) == "granted")
    }

    @Test("the ledger links an account token to a player only by a grant whose submission and purchase have the token")
    func learning() {
        let key = AccountTokenKey(bundleID: Sample.bundle, token: Sample.token)
        let others: [PendingDecision] = [
            decision("1", player: "a", submitted: nil), decision("2", player: "a", told: nil),
            decision("3", player: "a", verdict: .reject(.cancelled)), decision("4", player: "a", use: .none),
        ]
        for other in others {
            var view = LedgerView()
            _ = other.settle(in: &view)
            #expect(view.tokens[key]?.learntOf == nil && other.learnableTokens.isEmpty == (view.tokens[key] == nil))
        }
        var view = LedgerView()
        #expect(
            settle(decision("5", player: "a", verdict: .hold(.unknownProduct)), in: &view) == "held unknown_product")
        #expect(view.tokens[key] == AccountTokenFacts(learntOf: nil, senders: ["a"]))
        #expect(settle(decision("6", player: "b"), in: &view) == "granted")
        #expect(view.tokens[key] == AccountTokenFacts(learntOf: "b", senders: ["a", "b"]))
    }

    @Test(
        "after six players submitted the same account token, the ledger ignores the token, and starts no dispute")
    func constant() {
        for (use, second) in [
            (AccountTokenUse.holds, "held ownership_disputed shared_token"), (.signals, "granted shared_token"),
        ] {
            var view = LedgerView()
            #expect(settle(decision("1", player: "1", use: use), in: &view) == "granted")
            for player in 2...5 {
                #expect(
                    settle(decision(Identifier("\(player)"), player: Identifier("\(player)"), use: use), in: &view)
                        == second, "\(player)")
            }
            #expect(settle(decision("6", player: "6", use: use), in: &view) == "granted")
            #expect(settle(decision("7", player: "7", use: use), in: &view) == "granted")
            let key = AccountTokenKey(bundleID: Sample.bundle, token: Sample.token)
            #expect(view.tokens[key]?.isConstant == true && view.tokens[key]?.senders.count == 6)
        }
    }

    @Test("a rule's rejection overrides an account-token dispute, and such a dispute overrides another rule's hold")
    func order() {
        var view = LedgerView()
        _ = settle(decision("1", player: "buyer"), in: &view)
        #expect(settle(decision("2", player: "thief", verdict: .reject(.upgraded)), in: &view) == "rejected upgraded")
        #expect(
            settle(decision("3", player: "thief", verdict: .hold(.unknownProduct)), in: &view)
                == "held ownership_disputed shared_token")
        // The other rule holds the buyer's purchase. There is no dispute, because the buyer had the token before the
        // thief.
        #expect(
            settle(decision("3", player: "buyer", verdict: .hold(.unknownProduct)), in: &view) == "held unknown_product"
        )
        #expect(
            settle(decision("3", player: "second thief", verdict: .hold(.unknownProduct)), in: &view)
                == "rejected owned_by_other_player")
    }

    @Test("receiptd reads Apple's account token in lower case, the nil UUID as no token, and other text as malformed")
    func nilUUID() {
        #expect(AccountToken(told: "00000000-0000-0000-0000-000000000000").text == nil)
        #expect(AccountToken(told: Sample.token.uppercased()).text == Sample.token)
        #expect(AccountToken(told: "player-1") == .malformed)
    }
}
