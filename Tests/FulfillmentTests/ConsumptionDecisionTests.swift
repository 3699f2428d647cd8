import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@Suite("Consumption answers to Apple's refund requests")
struct ConsumptionDecisionTests {
    private static let signedAt = Timestamp(milliseconds: 1_795_176_000_000)
    private static let soon = Timestamp(milliseconds: signedAt.milliseconds + 3_600_000)
    private static let bundle: BundleID = "com.example.game"

    private static func catalog(
        _ preference: ConsumptionPolicy.RefundPreference? = nil, providesSample: Bool = false, answers: Bool = true
    ) -> Catalog {
        var app = AppPolicy(bundleID: bundle)
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "KEY")
        var policy = ConsumptionPolicy()
        policy.refundPreference = preference
        policy.providesSampleContent = providesSample
        app.announcements.consumption = answers ? policy : nil
        app.products = ["month": Product(id: "month", kind: .autoRenewableSubscription)]
        return Catalog(version: 1, apps: [app])
    }

    private static func leased(
        _ delivery: LeasedRefundRequest.Delivery = .granted(isAcknowledged: true), kind: ProductKind? = .consumable,
        product: ProductID = "gold", report: ConsumptionReport.Content? = nil
    ) -> LeasedRefundRequest {
        LeasedRefundRequest(
            request: RefundRequest(
                id: "n-1", transactionID: "1000", originalTransactionID: "1000", bundleID: bundle,
                environment: .production, productID: product, kind: kind, reason: nil, signedAt: signedAt),
            delivery: delivery, report: report, lease: 1)
    }

    private static func answer(
        _ delivery: ConsumptionAnswer.Delivery = .delivered, consumed: Int32? = nil,
        _ preference: ConsumptionPolicy.RefundPreference? = nil, sample: Bool = false
    ) -> ConsumptionDecision {
        .answer(
            ConsumptionAnswer(
                delivery: delivery, providesSampleContent: sample, consumedMilliPercent: consumed,
                refundPreference: preference))
    }

    struct Case: Sendable, CustomStringConvertible {
        let description: String
        let leased: LeasedRefundRequest
        var catalog = ConsumptionDecisionTests.catalog()
        let decision: ConsumptionDecision
    }

    private static func said(
        _ consumed: Int32? = nil, _ preference: ConsumptionPolicy.RefundPreference? = nil, consented: Bool? = nil
    ) -> ConsumptionReport.Content {
        ConsumptionReport.Content(
            consumedMilliPercent: consumed, refundPreference: preference, isConsented: consented)
    }

    private static let renewable = ProductKind.autoRenewableSubscription

    static let cases: [Case] = [
        Case(description: "delivered, nothing said", leased: leased(), decision: answer()),
        Case(
            description: "the catalog's preference and sample", leased: leased(),
            catalog: catalog(.decline, providesSample: true), decision: answer(.delivered, .decline, sample: true)),
        Case(
            description: "the game's percentage and preference before the catalog's",
            leased: leased(report: said(40_000, .grantFull)), catalog: catalog(.decline),
            decision: answer(consumed: 40_000, .grantFull)),
        Case(
            description: "prorated with a part", leased: leased(report: said(40_000, .grantProrated)),
            decision: answer(consumed: 40_000, .grantProrated)),
        Case(
            description: "prorated with nothing used", leased: leased(report: said(0, .grantProrated)),
            decision: answer(consumed: 0)),
        Case(
            description: "prorated with all used", leased: leased(report: said(100_000)),
            catalog: catalog(.grantProrated), decision: answer(consumed: 100_000)),
        Case(
            description: "prorated without a percentage", leased: leased(), catalog: catalog(.grantProrated),
            decision: answer()),
        Case(
            description: "a subscription: no percentage, prorated all the same",
            leased: leased(kind: renewable, report: said(40_000, .grantProrated)),
            decision: answer(.delivered, .grantProrated)),
        Case(
            description: "a subscription that only the catalog knows to be one",
            leased: leased(kind: nil, product: "month", report: said(40_000)), decision: answer()),
        Case(
            description: "undelivered: nothing used, never a decline",
            leased: leased(.undelivered, report: said(40_000)), catalog: catalog(.decline),
            decision: answer(.undelivered, consumed: 0)),
        Case(
            description: "undelivered, and the game would have it refunded",
            leased: leased(.undelivered, report: said(nil, .grantFull)),
            decision: answer(.undelivered, consumed: 0, .grantFull)),
        Case(
            description: "undelivered and prorated", leased: leased(.undelivered), catalog: catalog(.grantProrated),
            decision: answer(.undelivered, consumed: 0)),
        Case(
            description: "an undelivered subscription", leased: leased(.undelivered, kind: renewable),
            catalog: catalog(.decline), decision: answer(.undelivered)),
        Case(
            description: "granted, the event not acknowledged", leased: leased(.granted(isAcknowledged: false)),
            decision: .wait),
        Case(description: "revoked since", leased: leased(.revoked), decision: .end(.revoked)),
        Case(description: "gone from the ledger", leased: leased(.unknown), decision: .end(.notInLedger)),
        Case(
            description: "the player did not agree", leased: leased(report: said(consented: false)),
            decision: .end(.notConsented)),
        Case(description: "the player agreed", leased: leased(report: said(consented: true)), decision: answer()),
        Case(
            description: "the app answers none", leased: leased(), catalog: catalog(answers: false),
            decision: .end(.notConfigured)),
        Case(
            description: "the app is gone", leased: leased(), catalog: Catalog(version: 2, apps: []),
            decision: .end(.notConfigured)),
    ]

    @Test(
        "receiptd's answer to a refund request depends on the purchase's delivery, the game's report and the catalog",
        arguments: cases)
    func table(_ one: Case) {
        #expect(one.leased.decision(under: one.catalog, at: Self.soon) == one.decision)
    }

    @Test("receiptd answers a refund request only within twelve hours after Apple signed the request")
    func end() {
        let end = Self.signedAt.milliseconds + 12 * 3_600_000
        let leased = Self.leased()
        #expect(leased.request.answerBy.milliseconds == end)
        #expect(leased.decision(under: Self.catalog(), at: Timestamp(milliseconds: end - 1)) == Self.answer())
        #expect(leased.decision(under: Self.catalog(), at: Timestamp(milliseconds: end)) == .end(.tooLate))
        let unknown = Self.leased(.unknown)
        #expect(unknown.decision(under: Self.catalog(), at: Timestamp(milliseconds: end)) == .end(.notInLedger))
    }

    @Test(
        "the `refund.requested` event has exactly the contract's members, and the product kind does not change its id")
    func event() throws {
        let request = Self.leased().request
        let event = OutcomeEvent.refundRequested(request, by: "player-1", at: Self.soon)
        let json = try JSONParser.parse(event.value).value
        guard case .object(let members) = json else { throw NotAnObject() }
        #expect(
            members.map(\.name) == [
                "event_id", "type", "occurred_at", "player_id", "bundle_id", "transaction_id",
                "original_transaction_id", "product_id", "answer_by",
            ])
        #expect(json["type"]?.string == "refund.requested")
        #expect(json["answer_by"]?.string == request.answerBy.rfc3339)
        #expect(event.subject == "1000" && event.playerID == "player-1")
        #expect(OutcomeEvent(stored: event.value) == event)
        var told = request
        told.kind = nil
        #expect(OutcomeEvent.refundRequested(told, by: "player-1", at: Self.soon).eventID == event.eventID)
    }

    private struct NotAnObject: Error {}
}

@Suite("The game's consumption reports")
struct ConsumptionReportTests {
    private func decode(_ text: String?, headers: [String] = [], keys: [String] = [])
        -> ConsumptionReportDecoder.Decoded
    {
        ConsumptionReportDecoder(signingKeys: keys)
            .decode(
                key: Self.key, text.map { Array($0.utf8) }, signatureHeaders: headers.map { Array($0.utf8) })
    }

    private static let key = Array("1000".utf8)

    private func content(_ members: String) -> ConsumptionReport.Content? {
        let text = #"{"transaction_id":"1000","bundle_id":"com.example.game"\#(members)}"#
        guard case .report(let report) = decode(text) else { return nil }
        return report.content
    }

    @Test("the decoder reads each member of a consumption report, and leaves an absent or null member unset")
    func read() {
        #expect(content("") == ConsumptionReport.Content())
        #expect(content(#","consumption_percentage":null"#) == ConsumptionReport.Content())
        #expect(
            content(#","consumption_percentage":100000,"refund_preference":"grant_full","customer_consented":false"#)
                == ConsumptionReport.Content(
                    consumedMilliPercent: 100_000, refundPreference: .grantFull, isConsented: false))
    }

    @Test(
        "a consumption report with an unknown or repeated member, or a value that Apple refuses, is a dead letter",
        arguments: [
            #","consumption_percentage":100001"#, #","consumption_percentage":-1"#, #","consumption_percentage":0.5"#,
            #","consumption_percentage":"50""#, #","refund_preference":"GRANT_FULL""#, #","refund_preference":1"#,
            #","customer_consented":"true""#,
            // These members do not belong in this topic, or occur twice in the record.
            #","more":[1]"#, #","player_id":"p""#, #","bundle_id":"com.example.game""#,
        ])
    func wrong(_ members: String) {
        #expect(content(members) == nil)
    }

    @Test("a consumption report that is no object, or has no valid transaction id or bundle id, is a dead letter")
    func unreadable() {
        for text in [
            nil, "", "[]", "{}", #"{"transaction_id":"1000"}"#, #"{"transaction_id":"01","bundle_id":"b"}"#,
            #"{"transaction_id":1000,"bundle_id":"b"}"#, #"{"transaction_id":"1000","bundle_id":""}"#,
        ] {
            guard case .deadLetter(let letter) = decode(text) else {
                Issue.record("\(text ?? "null") is taken")
                continue
            }
            #expect(letter.reason == .malformedMessage)
        }
    }

    @Test("if signing keys are set, a consumption report needs a signature that covers the record's key and kind")
    func signed() throws {
        let text = #"{"transaction_id":"1000","bundle_id":"com.example.game"}"#
        let signature = RecordSignature(keys: ["secret"], of: .consumption)
        let header = try #require(signature.header(ofKey: Self.key, value: Array(text.utf8)))
        let another = try #require(signature.header(ofKey: [], value: Array(text.utf8)))
        let alone = try #require(
            RecordSignature(keys: ["secret"], of: .submissions).header(ofKey: Self.key, value: Array(text.utf8)))
        guard case .report = decode(text, headers: [String(decoding: header, as: UTF8.self)], keys: ["old", "secret"])
        else { return #expect(Bool(false), "it is refused") }
        let refused = [another, alone].map { [String(decoding: $0, as: UTF8.self)] }
        for headers in [[], ["v1=00"]] + refused {
            guard case .deadLetter(let letter) = decode(text, headers: headers, keys: ["secret"]) else {
                return #expect(Bool(false), "it is taken with \(headers)")
            }
            #expect(letter.reason == .badSignature)
        }
    }
}
