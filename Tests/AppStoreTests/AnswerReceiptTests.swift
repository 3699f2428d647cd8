import Fulfillment
import NamesAndTimes
import Testing

@testable import AppStore

@Suite("The receipt in an answer of verifyReceipt")
struct AnswerReceiptTests {
    private func receipt(
        root: String = "", receipt: String = #""bundle_id":"com.example.game","#, asked: StoreEnvironment = .production
    ) -> GenuineReceipt? {
        var answer = AnswerText(AnswerText.fields())
        answer.root = root
        answer.receipt = receipt
        return parse(answer.text, asked: asked).genuine
    }

    @Test(
        "A verifyReceipt answer whose receipt has no readable bundle id counts as incomplete",
        arguments: ["", #""bundle_id":"","#, #""bundle_id":"a\u0000b","#, #""bundle_id":[],"#, #""bundle_id":null,"#])
    func noBundle(fields: String) {
        var answer = AnswerText(AnswerText.fields())
        answer.receipt = fields
        #expect(parse(answer.text) == .incomplete)
    }

    @Test("A verifyReceipt answer with only a status is a refusal; with other members but no receipt it is incomplete")
    func noReceipt() {
        for text in [#"{"status":0}"#, #"{"status":0,"receipt":null}"#] {
            #expect(parse(text) == .answer(.refused(.nothingTold)))
        }
        for text in [#"{"status":21006}"#, #"{"status":21006,"receipt":null}"#] {
            #expect(parse(text) == .answer(.refused(.expired)))
        }
        #expect(parse(#"{"status":0,"latest_receipt_info":[]}"#) == .incomplete)
    }

    @Test(
        "A verifyReceipt answer whose receipt is no JSON object, or an empty object, counts as incomplete",
        arguments: ["[]", #""x""#, "1", "{}"])
    func noReceipt(text: String) {
        #expect(parse(#"{"status":0,"receipt":\#(text)}"#) == .incomplete)
    }

    @Test(
        "If the receipt in a verifyReceipt answer lists no purchase, the receipt can still be genuine",
        arguments: [#","in_app":[]"#, #","in_app":null"#, ""])
    func noPurchase(inApp: String) {
        let receipt = parse(#"{"status":0,"receipt":{"bundle_id":"a"\#(inApp)}}"#).genuine
        #expect(receipt?.purchases == [])
    }

    @Test(
        "A verifyReceipt answer counts as incomplete if in_app is neither an array nor a transaction",
        arguments: ["1", #""""#, "{}", "true"])
    func strangeInApp(text: String) {
        #expect(parse(#"{"status":0,"receipt":{"bundle_id":"a","in_app":\#(text)}}"#) == .incomplete)
    }

    @Test(
        "The verifyReceipt parser reads the app's number from a number or text, and takes 0 as no number",
        arguments: [
            (#""adam_id":1149703708,"#, 1_149_703_708), (#""adam_id":"1149703708","#, 1_149_703_708),
            (#""adam_id":0,"app_item_id":7,"#, 7), (#""app_item_id":"7","#, 7), (#""adam_id":0,"app_item_id":0,"#, nil),
            (#""adam_id":"0","#, nil), (#""adam_id":"","#, nil), (#""item_id":"5","#, nil), ("", nil),
        ] as [(String, Int64?)])
    func appNumber(fields: String, number: Int64?) {
        #expect(receipt(receipt: fields + #""bundle_id":"a","#)?.appAppleID == number)
    }

    @Test(
        "A receipt's environment comes from verifyReceipt's answer, else the receipt's type, else the endpoint",
        arguments: [
            (#""environment":"Sandbox","#, #""receipt_type":"Production","#, .production, .sandbox),
            (#""environment":"Production","#, "", .sandbox, .production),
            ("", #""receipt_type":"ProductionSandbox","#, .production, .sandbox),
            ("", #""receipt_type":"ProductionVPPSandbox","#, .production, .sandbox),
            ("", #""receipt_type":"ProductionVPP","#, .sandbox, .production),
            ("", #""environment":"Sandbox","#, .production, .sandbox),
            ("", "", .sandbox, .sandbox), ("", "", .production, .production),
        ] as [(String, String, StoreEnvironment, StoreEnvironment)])
    func environment(root: String, fields: String, asked: StoreEnvironment, told: StoreEnvironment) {
        #expect(receipt(root: root, receipt: fields + #""bundle_id":"a","#, asked: asked)?.environment == told)
    }

    @Test("If in_app and latest_receipt_info list the same transaction, its purchase has the facts of both lists")
    func merging() {
        let token = "5b6cdb01-2e3a-4f7b-9c1d-0123456789ab"
        var answer = AnswerText(
            AnswerText.fields(["original_transaction_id": #""900""#, "cancellation_date_ms": "1500000000000"]),
            AnswerText.fields(["transaction_id": #""1001""#]))
        let latest = [
            AnswerText.fields(["quantity": nil, "app_account_token": "\"\(token)\"", "transaction_id": "1000"]),
            AnswerText.fields(["transaction_id": #""1002""#, "product_id": #""silver""#]),
            AnswerText.fields([
                "transaction_id": #""1001""#, "cancellation_date_ms": "1500000000001",
                "in_app_ownership_type": #""FAMILY_SHARED""#, "expires_date_ms": "1600000000000",
            ]),
        ]
        answer.root = #""latest_receipt_info":[\#(latest.joined(separator: ","))],"#
        let receipt = parse(answer.text).genuine
        #expect(receipt?.purchases.map(\.transactionID) == ["1000", "1001", "1002"])
        #expect(receipt?.listedLater == ["1002"])
        let first = receipt?.purchases.first
        #expect(first?.originalTransactionID == "900")
        #expect(first?.appAccountToken == token)
        #expect(first?.cancelledAt == Timestamp(milliseconds: 1_500_000_000_000))
        let second = receipt?.purchases.dropFirst().first
        #expect(second?.cancelledAt == Timestamp(milliseconds: 1_500_000_000_001))
        #expect(second?.isFamilyShared == true)
        #expect(second?.expiresAt == Timestamp(milliseconds: 1_600_000_000_000))
        #expect(receipt?.holdsAutoRenewable == true)
    }

    @Test(
        "If Apple lists one transaction with two values of a member, the parser lists the member as unreadable",
        arguments: [("product_id", #""silver""#), ("quantity", "2"), ("quantity", #""two""#)])
    func contradiction(name: String, value: String) {
        let other = AnswerText.fields(["transaction_id": "2000"])
        let receipt = parse(AnswerText(AnswerText.fields(), AnswerText.fields([name: value]), other).text).genuine
        #expect(receipt?.purchases.map(\.unreadable) == [[name], []])
    }

    @Test(
        "A verifyReceipt answer with any member about renewals counts as having an auto-renewable subscription",
        arguments: [
            (#""latest_receipt":"TUlJ","#, true), (#""latest_receipt_info":[],"#, true),
            (#""pending_renewal_info":[],"#, true), (#""auto_renew_status":0,"#, true),
            (#""latest_receipt":null,"#, false), ("", false),
        ])
    func renewals(root: String, holds: Bool) {
        #expect(receipt(root: root)?.holdsAutoRenewable == holds)
    }

    @Test("If a verifyReceipt answer has no request_date, the answer's renewals get its time of arrival")
    func renewalsWithoutTime() {
        let renewal = #""pending_renewal_info":[{"original_transaction_id":"1","is_in_billing_retry_period":"1"}],"#
        var answer = AnswerText(AnswerText.fields())
        answer.root = renewal
        let body = Array(answer.text.utf8)
        let came = Timestamp(milliseconds: 1_600_000_000_000)
        let read = VerifyReceiptAnswer.parseWithStatus(body, asked: .production, cameAt: came).answer.genuine
        #expect(read?.answeredAt == came)
        #expect(read?.renewals.map(\.isInBillingRetry) == [true] && read?.renewals.first?.signedAt == came)
    }

    @Test("A purchase with an expiry or a web_order_line_item_id counts as an auto-renewable subscription")
    func renewingPurchases() {
        for name in ["expires_date_ms", "web_order_line_item_id"] {
            let answer = AnswerText(AnswerText.fields([name: "1600000000000"]))
            #expect(parse(answer.text).genuine?.holdsAutoRenewable == true)
        }
    }

    static let oldStyle = """
        "receipt":{"bid":"com.example.application","bvrs":"123","product_id":"month","transaction_id":"1987654312",
        "original_transaction_id":"9078563412","quantity":1,"purchase_date":"2013-01-18 20:11:23 Etc/GMT",
        "item_id":"521129812","app_item_id":"456","expires_date":"1361131883894",
        "expires_date_formatted":"2013-02-17 20:11:23 Etc/GMT","unique_identifier":"c0ffee"}
        """

    @Test("The verifyReceipt parser reads an iOS 6 receipt's transaction, and the latest period that the answer adds")
    func transactionReceipt() {
        let latest = """
            {"product_id":"month","transaction_id":"1987654321","original_transaction_id":"9078563412","quantity":"1",
            "purchase_date_ms":"1361218283000","expires_date":"1363547483000","bid":"com.example.application"}
            """
        let renewals = "\"latest_receipt\":\"TUlJ\",\"latest_receipt_info\":\(latest)"
        let receipt = parse("{\"status\":0,\(renewals),\(Self.oldStyle)}").genuine
        #expect(receipt?.bundleID == "com.example.application")
        #expect(receipt?.appAppleID == 456)
        #expect(receipt?.holdsAutoRenewable == true)
        #expect(receipt?.isExpiredSubscription == false)
        #expect(receipt?.purchases.map(\.transactionID) == ["1987654312", "1987654321"])
        #expect(receipt?.purchases.first?.expiresAt == Timestamp(milliseconds: 1_361_131_883_894))
        #expect(receipt?.purchases.first?.purchasedAt == Timestamp(rfc3339: "2013-01-18T20:11:23Z"))
    }

    @Test("A verifyReceipt answer with status 21006 and a receipt is a genuine receipt of an expired subscription")
    func expired() {
        let receipt = parse(#"{"status":21006,\#(Self.oldStyle)}"#).genuine
        #expect(receipt?.isExpiredSubscription == true)
        #expect(receipt?.holdsAutoRenewable == true)
        #expect(receipt?.purchases.map(\.transactionID) == ["1987654312"])
    }

    @Test("If an iOS 6 transaction has no id, the verifyReceipt parser lists it as a purchase without a readable id")
    func transactionReceiptWithoutID() {
        let receipt = parse(#"{"status":0,"receipt":{"bid":"a","product_id":"month"}}"#).genuine
        #expect(receipt?.purchases == [])
        #expect(
            receipt?.nameless
                == [NamelessPurchase(transactionID: nil, productID: "month", field: "transaction_id")])
    }
}
