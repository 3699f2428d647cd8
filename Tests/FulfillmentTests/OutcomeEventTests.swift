import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Outcome events, to the byte")
struct OutcomeEventTests {
    private func event(
        _ purchase: StorePurchase, payload: String? = nil, _ submission: Submission = Sample.submission(),
        verdict: JudgedPurchase.Verdict? = nil
    ) throws -> OutcomeEvent {
        var view = LedgerView()
        let judged = Sample.judged(purchase, .consumable, verdict ?? .grant(payload: payload))
        return try #require(Sample.decision(.each([judged]), submission: submission).settle(in: &view).events.first)
    }

    @Test("the event of a grant with order id, expiry and payload has exactly the expected bytes")
    func granted() throws {
        var purchase = Sample.purchase("1001", original: "1000")
        purchase.quantity = 3
        purchase.expiresAt = Sample.recordTime.adding(milliseconds: 1)
        let event = try event(purchase, payload: #"{"gold":555}"#, Sample.submission(orderID: "order\u{1}\u{85}"))
        let id = NameBasedUUID("transaction event", "receipt.granted", "1001", "1")
        #expect(
            event.text == #"{"event_id":"\#(id)","type":"receipt.granted","occurred_at":"2026-11-20T09:30:00.000Z","#
                + #""submission_id":"submission-1","player_id":"player-1","bundle_id":"com.example.game","#
                + #""order_id":"order\u0001\u0085","source":"submission","transaction_id":"1001","original_transaction_id":"1000","#
                + #""product_id":"gold.1","quantity":3,"environment":"Production","#
                + #""purchased_at":"2026-11-20T09:29:00.000Z","expires_at":"2026-11-20T09:30:00.001Z","revision":1,"#
                + #""payload":{"gold":555},"risk":[],"transactions":[{"transaction_id":"1001","product_id":"gold.1","#
                + #""outcome":"granted","reason":null}],"transactions_total":1}"#)
        #expect(event.eventID == id)
        #expect(event.reason == nil)
        #expect(event.subject == "1001")
    }

    @Test("the event that rejects a whole submission has the detail code of the cause")
    func wholeCause() throws {
        for (cause, code): (Cause?, String) in [(.otherApp, "other_app_apple_id"), (nil, "other_bundle_id")] {
            let decision = PendingDecision(
                submission: Sample.submission(), position: Sample.position(), proof: Digest256(hashing: []),
                verdict: .whole(.foreignApp, []), environment: .production, evidence: nil,
                decidedAt: Sample.recordTime, catalogVersion: 1, traceparent: nil, cause: cause)
            var view = LedgerView()
            let event = try #require(decision.settle(in: &view).events.first)
            #expect(event.member("detail_code")?.string == code)
        }
    }

    private static let other = "00000000-0000-4000-8000-000000000002"

    static let mismatches: [(submitted: String?, told: String?, AccountTokenUse, isJudged: Bool, code: String)] = [
        (nil, Sample.token, .holds, true, "token_missing"),
        (Sample.token, nil, .signals, true, "token_not_on_purchase"),
        (Sample.token, other, .signals, true, "token_differs"),
        // The topic `player-accounts` names the player to whom these tokens belong.
        (nil, Sample.token, .signals, false, "token_of_other_player"),
        (Sample.token, nil, .signals, false, "token_of_other_player"),
        (Sample.token, Sample.token, .signals, false, "token_of_other_player"),
        // Under the policy `account_token_is: player_id`, the judge compares these tokens with the player's id.
        (nil, Sample.token, .none, true, "token_of_other_player"),
        (Sample.token, nil, .none, true, "token_of_other_player"),
        (nil, nil, .none, true, "token_missing"),
    ]

    @Test(
        "a binding_mismatch event says that the token is missing, not on the purchase, different or another player's",
        arguments: mismatches)
    func mismatch(submitted: String?, told: String?, use: AccountTokenUse, isJudged: Bool, code: String) throws {
        var purchase = Sample.purchase()
        purchase.appAccountToken = told
        let judged = Sample.judged(purchase, .consumable, isJudged ? .reject(.bindingMismatch) : .grant(payload: nil))
        let decision = PendingDecision(
            submission: Sample.submission(token: submitted), position: Sample.position(),
            proof: Digest256(hashing: []), verdict: .each([judged]), environment: .production, evidence: nil,
            decidedAt: Sample.recordTime, catalogVersion: 1, traceparent: nil, tokenUse: use)
        let key = AccountTokenKey(bundleID: Sample.bundle, token: Sample.token)
        var view = LedgerView()
        if !isJudged { view.tokens[key] = AccountTokenFacts(told: "player-2") }
        let event = try #require(decision.settle(in: &view).events.first)
        #expect(event.reason == .bindingMismatch && event.member("detail_code")?.string == code)
    }

    @Test("a grant event omits the members of absent optional facts")
    func plainGrant() throws {
        let text = try event(Sample.purchase()).text
        let names = ["order_id", "expires_at", "payload", "\"detail\""] + OutcomeEvent.toldMembers
        for name in names { #expect(!text.contains(name), "\(name)") }
    }

    @Test("a grant event has price, currency, storefront and offer, and has is_trial only for a free trial")
    func told() throws {
        var purchase = Sample.purchase()
        purchase.quantity = 3
        purchase.currency = "EUR"
        purchase.told = PurchaseFacts(
            priceMilliunits: 5970, storefront: "DEU", offerType: 1, offerDiscountType: "FREE_TRIAL",
            transactionReason: "RENEWAL")
        #expect(
            try event(purchase).text.contains(
                #","quantity":3,"environment":"Production","purchased_at":"2026-11-20T09:29:00.000Z","#
                    + #""price_milliunits":5970,"currency":"EUR","#
                    + #""storefront":"DEU","offer_type":1,"offer_discount_type":"FREE_TRIAL","#
                    + #""transaction_reason":"RENEWAL","is_trial":true,"revision":1,"#))
        purchase.told = PurchaseFacts(offerType: 2, offerDiscountType: "PAY_AS_YOU_GO")
        #expect(try event(purchase).text.contains(#""currency":"EUR","offer_type":2,"#))
        #expect(try !event(purchase).text.contains("is_trial"))
    }

    @Test("a grant event does not contain the currency that the client submitted")
    func claimedCurrency() throws {
        let submission = Submission(
            submissionID: "s", playerID: "p", bundleID: Sample.bundle, proof: .receipt("MIIB"), currency: "USD")
        #expect(try !event(Sample.purchase(), submission).text.contains("currency"))
    }

    @Test("the event of a hold has exactly the expected bytes")
    func held() throws {
        let event = try event(Sample.purchase(), verdict: .hold(.retiredProduct))
        let id = OutcomeEvent.eventID(
            .held, submission: Sample.decision(.each([])).identity, position: Sample.position())
        #expect(
            event.text == #"{"event_id":"\#(id)","type":"receipt.held","occurred_at":"2026-11-20T09:30:00.000Z","#
                + #""submission_id":"submission-1","player_id":"player-1","bundle_id":"com.example.game","#
                + #""source":"submission","reason":"retired_product","detail":"The product is no longer sold.","detail_code":"retired_product","risk":[],"#
                + #""transactions":[{"transaction_id":"1000","product_id":"gold.1","outcome":"held","#
                + #""reason":"retired_product"}],"transactions_total":1}"#)
    }

    @Test("the event of a local rejection has exactly the expected bytes")
    func rejected() {
        let submission = Sample.submission(orderID: "order-1")
        let event = OutcomeEvent.rejectedLocally(
            Refusal(.unknownApp), submission: submission, proof: nil, position: Sample.position())
        let identity = submission.identity(proof: Sample.position().content)
        let id = OutcomeEvent.eventID(.rejected, submission: identity, position: Sample.position())
        #expect(
            event.text == #"{"event_id":"\#(id)","type":"receipt.rejected","occurred_at":"2026-11-20T09:30:00.000Z","#
                + #""submission_id":"submission-1","player_id":"player-1","bundle_id":"com.example.game","#
                + #""order_id":"order-1","source":"submission","reason":"unknown_app","detail":"The catalog does not have this bundle id.","detail_code":"unknown_app","#
                + #""transactions":[],"transactions_total":0}"#)
    }

    @Test("the event that rejects a malformed submission has those members of the sender that are readable")
    func malformed() {
        let sender = DeadLetter.Sender(submissionID: "s", playerID: "p", bundleID: nil, orderID: nil)
        let event = OutcomeEvent.malformed(sender, position: Sample.position())
        #expect(
            event.text == #"{"event_id":"\#(event.eventID)","type":"receipt.rejected","#
                + #""occurred_at":"2026-11-20T09:30:00.000Z","submission_id":"s","player_id":"p","#
                + #""source":"submission","reason":"malformed_submission","#
                + #""detail":"The record is not a submission; the dead-letter topic has it.","detail_code":"malformed_submission","#
                + #""transactions":[],"transactions_total":0}"#)
        let full = DeadLetter.Sender(submissionID: "s", playerID: "p", bundleID: "b", orderID: "o")
        let told = OutcomeEvent.malformed(full, position: Sample.position())
        #expect(told.member("bundle_id") == .string("b"))
        #expect(told.member("order_id") == .string("o"))
        #expect(told.reason == .malformedSubmission)
    }

    @Test("the same inputs give an event with the same bytes, and the stored bytes decode to the same event")
    func storedRoundTrip() throws {
        let sender = DeadLetter.Sender(submissionID: "s\u{1}", playerID: "é\n", bundleID: nil, orderID: nil)
        let make: [() throws -> OutcomeEvent] = [
            { try event(Sample.purchase(), payload: #"{"transaction_id":"x","type":"y"}"#) },
            { try event(Sample.purchase(), verdict: .hold(.unknownProduct)) },
            { try event(Sample.purchase(), verdict: .reject(.cancelled)) },
            { OutcomeEvent.malformed(sender, position: Sample.position()) },
        ]
        for make in make {
            let event = try make()
            #expect(try make() == event)
            #expect(OutcomeEvent(stored: event.value) == event)
        }
        for text in ["", "{}", "[]", #"{"event_id":"x"}"#] { #expect(OutcomeEvent(stored: Array(text.utf8)) == nil) }
    }

    @Test(
        "an answer's event id depends on kind, submission and record; a grant's on kind, transaction and revision")
    func ids() {
        let identity = Sample.decision(.each([])).identity
        let position = Sample.position()
        var ids: Set<NameBasedUUID> = [
            OutcomeEvent.eventID(.rejected, submission: identity, position: position),
            OutcomeEvent.eventID(.held, submission: identity, position: position),
            OutcomeEvent.eventID(.rejected, submission: identity, position: Sample.position(offset: 8)),
            OutcomeEvent.eventID(.rejected, submission: NameBasedUUID("x"), position: position),
        ]
        for kind: OutcomeEvent.Kind in [.granted, .revoked, .reinstated] {
            for transaction: StoreTransactionID in ["1", "2"] {
                for revision in Int32(1)...3 {
                    ids.insert(OutcomeEvent.eventID(kind, transaction: transaction, revision: revision))
                }
            }
        }
        #expect(ids.count == 4 + 3 * 2 * 3)
    }

    @Test("every reason has a code of lower-case letters and underscores, and a sentence of its own")
    func details() {
        for reason in Reason.allCases {
            #expect(reason.detail.hasSuffix("."))
            #expect(reason.detail.first?.isUppercase == true)
            #expect(reason.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F })
        }
        #expect(Set(Reason.allCases.map(\.detail)).count == Reason.allCases.count)
    }

    @Test("no event contains the receipt, the token, the device, or the client's product and currency")
    func noSecrets() throws {
        let submission = Submission(
            submissionID: "s", playerID: "p", bundleID: Sample.bundle, proof: .receipt("RECEIPT"), productID: "CLAIMED",
            appAccountToken: "TOKEN", deviceID: "DEVICE", currency: "XXX")
        for verdict: JudgedPurchase.Verdict in [.grant(payload: nil), .hold(.unknownProduct), .reject(.cancelled)] {
            let text = try event(Sample.purchase(), submission, verdict: verdict).text
            for secret in ["RECEIPT", "TOKEN", "DEVICE", "CLAIMED", "XXX"] { #expect(!text.contains(secret)) }
        }
    }
}
