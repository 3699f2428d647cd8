import AppStore
import Fulfillment
import NamesAndTimes
import Testing

@Suite("The purchases in an answer of verifyReceipt")
struct AnswerPurchaseTests {
    @Test("The verifyReceipt parser finds the only consumable in Apple's answer of 2017")
    func live2017() {
        #expect(
            parse(PublishedAnswers.live2017)
                == .answer(
                    .genuine(
                        GenuineReceipt(
                            bundleID: "com.lucky917.ios.Live", appAppleID: 1_149_703_708, environment: .production,
                            purchases: [
                                StorePurchase(
                                    transactionID: "350000191094279", originalTransactionID: "350000191094279",
                                    productID: "com.lucky917.live.gold.1.555",
                                    purchasedAt: Timestamp(milliseconds: 1_484_283_892_000))
                            ], createdAt: Timestamp(milliseconds: 1_484_283_892_000)))))
    }

    @Test("The verifyReceipt parser finds two purchases of the same product and millisecond in Apple's answer of 2023")
    func baloot2023() {
        let receipt = parse(PublishedAnswers.baloot2023, asked: .sandbox).genuine
        #expect(receipt?.environment == .production)
        #expect(receipt?.appAppleID == 13_647_829_875)
        #expect(receipt?.purchases.map(\.transactionID) == ["521111385457811", "522222385457811"])
        #expect(receipt?.purchases.allSatisfy { $0.productID == "lllll.20.com" && $0.quantity == 1 } == true)
        #expect(receipt?.holdsAutoRenewable == false)
    }

    @Test("The verifyReceipt parser reads ids, quantities and times that Apple writes as JSON numbers")
    func lenientNumbers() {
        let told = purchase([
            "transaction_id": "350000191094279", "original_transaction_id": "12", "quantity": "3",
            "purchase_date_ms": "1484283892000",
        ])
        #expect(told?.transactionID == "350000191094279")
        #expect(told?.originalTransactionID == "12")
        #expect(told?.quantity == 3)
        #expect(told?.purchasedAt == Timestamp(milliseconds: 1_484_283_892_000))
        #expect(purchase(["transaction_id": "99999999999999999999"])?.transactionID == "99999999999999999999")
    }

    @Test(
        "Each purchase of a verifyReceipt answer gets the receipt's app_transaction_id, if the parser can read this id")
    func account() {
        var answer = AnswerText(AnswerText.fields(), AnswerText.fields(["transaction_id": #""2000""#]))
        for (told, read) in [(#""704000000000001""#, "704000000000001"), ("704", "704"), ("null", nil), ("[]", nil)] {
            answer.receipt = #""bundle_id":"com.example.game","app_transaction_id":\#(told),"#
            let purchases = parse(answer.text).genuine?.purchases
            #expect(purchases?.map { $0.appTransactionID?.text } == [read, read], "\(told)")
        }
    }

    @Test(
        "The verifyReceipt parser reads is_trial_period from text, a boolean or a number, or else drops the value",
        arguments: [
            (#""true""#, true), ("true", true), ("1", true), (#""false""#, false), ("null", false), ("[]", false),
            (#""perhaps""#, false),
        ])
    func trial(text: String, isTrial: Bool) {
        let told = purchase(["is_trial_period": text])
        #expect(told != nil && told?.told?.isTrial == (isTrial ? true : nil))
    }

    @Test("In a verifyReceipt answer a missing quantity counts as 1, a missing original id as the transaction's own id")
    func defaults() {
        for absent in [nil, "null"] as [String?] {
            let told = purchase(["quantity": absent, "original_transaction_id": absent])
            #expect(told?.quantity == 1)
            #expect(told?.originalTransactionID == "1000")
        }
        #expect(purchase(["original_transaction_id": #""""#])?.originalTransactionID == "1000")
        #expect(purchase(["cancellation_date": #""""#, "expires_date": "null"])?.cancelledAt == nil)
    }

    @Test(
        "If a quantity is not a positive 32-bit whole number, the verifyReceipt parser lists the quantity as unreadable",
        arguments: [
            "0", "-1", #""0""#, #""-3""#, "2147483648", #""2147483648""#, "1.5", "1e1", #""two""#, "true",
            "[]",
        ])
    func badQuantity(text: String) {
        #expect(purchase(["quantity": text])?.unreadable == ["quantity"])
    }

    @Test("The verifyReceipt parser reads a quantity of 2,147,483,647, the largest 32-bit number")
    func largestQuantity() {
        #expect(purchase(["quantity": #""2147483647""#])?.quantity == .max)
    }

    static let longest = String(repeating: "7", count: 128)

    @Test(
        "If a purchase's id or product is unreadable, the verifyReceipt parser still reads all other purchases",
        arguments: [
            ("transaction_id", nil), ("transaction_id", "null"), ("transaction_id", #""""#), ("transaction_id", "1.5"),
            ("transaction_id", "1e9"), ("transaction_id", "true"), ("transaction_id", "{}"), ("transaction_id", "-5"),
            ("transaction_id", "\"\(longest)7\""), ("transaction_id", longest + "7"), ("transaction_id", "0"),
            ("transaction_id", #""10\u000000""#), ("transaction_id", #""01000""#),
            ("transaction_id", #""1000 ""#), ("transaction_id", #""+1000""#), ("transaction_id", #""１０００""#),
            ("transaction_id", #""999999999999999999999""#), ("original_transaction_id", #""01000""#),
            ("original_transaction_id", #""\u0000""#), ("original_transaction_id", "[]"), ("product_id", nil),
            ("product_id", #""""#), ("product_id", "false"), ("product_id", #""go\u0000ld""#),
            ("product_id", "\"\(longest)7\""),
        ] as [(String, String?)])
    func namelessPurchase(name: String, value: String?) {
        let text = AnswerText(AnswerText.fields(["transaction_id": #""1""#]), AnswerText.fields([name: value])).text
        let receipt = parse(text).genuine
        #expect(receipt?.purchases.map(\.transactionID) == ["1"])
        #expect(receipt?.nameless.map(\.field) == [name])
        #expect(receipt?.isReadable == false)
    }

    @Test(
        "A purchase with an unreadable id or product keeps the id and product that Apple wrote, if they are printable")
    func shownNames() {
        let text = AnswerText(
            AnswerText.fields(["transaction_id": #""01000""#]),
            AnswerText.fields(["transaction_id": "{}", "product_id": "7"]),
            AnswerText.fields(["transaction_id": #""01000""#])
        ).text
        #expect(
            parse(text).genuine?.nameless == [
                NamelessPurchase(transactionID: "01000", productID: "gold", field: "transaction_id"),
                NamelessPurchase(transactionID: nil, productID: "7", field: "transaction_id"),
            ])
        #expect(NamelessPurchase(transactionID: "a\u{0}", productID: "", field: "f").transactionID == "unreadable")
    }

    @Test(
        "The verifyReceipt parser lists an unreadable date, or a missing purchase date, as an unreadable member",
        arguments: [
            ("purchase_date_ms", nil), ("purchase_date_ms", "0"), ("purchase_date_ms", "-5"),
            ("purchase_date_ms", "1.4e12"), ("purchase_date_ms", #""soon""#), ("purchase_date_ms", "253402300800000"),
            ("expires_date_ms", "true"), ("cancellation_date_ms", #""soon""#),
        ] as [(String, String?)])
    func unreadableDates(name: String, value: String?) {
        #expect(purchase([name: value])?.unreadable == [name])
    }

    @Test("The verifyReceipt parser reads a product id of 128 characters and a transaction id of twenty digits")
    func longestIdentifier() {
        #expect(purchase(["transaction_id": "99999999999999999999"])?.transactionID == "99999999999999999999")
        let wide = String(repeating: "é", count: 128)
        #expect(purchase(["product_id": "\"\(wide)\""])?.productID.text == wide)
    }

    @Test(
        "The verifyReceipt parser reads a date from milliseconds or text, and prefers the milliseconds",
        arguments: [
            ["purchase_date_ms": "1484283892000", "purchase_date": #""2001-01-01 00:00:00 Etc/GMT""#],
            ["purchase_date_ms": nil, "purchase_date": #""2017-01-13 05:04:52 Etc/GMT""#],
            ["purchase_date_ms": "null", "purchase_date": #""2017-01-13T05:04:52Z""#],
            ["purchase_date_ms": #""""#, "purchase_date": #""2017-01-13T06:04:52+01:00""#],
            ["purchase_date_ms": #""x""#, "purchase_date": "1484283892000"],
        ] as [[String: String?]])
    func dates(fields: [String: String?]) {
        #expect(purchase(fields)?.purchasedAt == Timestamp(milliseconds: 1_484_283_892_000))
    }

    @Test(
        "In a verifyReceipt answer a restored purchase has the time of the first purchase, if the time is readable",
        arguments: [
            (["original_purchase_date_ms": #""1384283892000""#], 1_384_283_892_000),
            (["original_purchase_date": #""2013-11-12 19:18:12 Etc/GMT""#], 1_384_283_892_000),
            (["original_purchase_date_ms": #""soon""#], nil), (["original_purchase_date_ms": "{}"], nil), ([:], nil),
        ] as [([String: String], Int64?)])
    func restoredCopy(fields: [String: String], milliseconds: Int64?) {
        let time = milliseconds.map(Timestamp.init(milliseconds:))
        let copy = fields.merging(["original_transaction_id": #""12""#]) { $1 }.mapValues(Optional.some)
        let told = purchase(copy)
        #expect(told?.originalPurchasedAt == time && told?.unreadable == [])
        let own = purchase(fields.mapValues(Optional.some))
        #expect(own?.unreadable == [] && own?.originalPurchasedAt == nil)
        let period = purchase(copy.merging(["web_order_line_item_id": #""7""#]) { $1 })
        #expect(period?.webOrderLineItemID == "7" && period?.originalPurchasedAt == nil)
        let bare = AnswerText.fields(["original_transaction_id": #""12""#])
        for elements in [[AnswerText.fields(copy), bare], [bare, AnswerText.fields(copy)]] {
            let merged = parse(AnswerText(elements[0], elements[1]).text).genuine?.purchases
            #expect(merged?.map(\.originalPurchasedAt) == [time])
        }
    }

    @Test("The verifyReceipt parser reads expiry, cancellation, family sharing and the account token")
    func marks() {
        let token = "5B6CDB01-2E3A-4F7B-9C1D-0123456789AB"
        let told = purchase([
            "expires_date": #""2017-02-13 05:04:52 Etc/GMT""#, "cancellation_date_ms": #""1484283893000""#,
            "in_app_ownership_type": #""FAMILY_SHARED""#, "app_account_token": "\"\(token)\"",
        ])
        #expect(told?.expiresAt == Timestamp(milliseconds: 1_486_962_292_000))
        #expect(told?.cancelledAt == Timestamp(milliseconds: 1_484_283_893_000))
        #expect(told?.isFamilyShared == true)
        #expect(told?.appAccountToken == token.lowercased())
        #expect(purchase(["in_app_ownership_type": #""PURCHASED""#])?.isFamilyShared == false)
        for untold in [#""""#, "null", #""00000000-0000-0000-0000-000000000000""#] {
            let told = purchase(["app_account_token": untold])
            #expect(told != nil && told?.appAccountToken == nil)
        }
        #expect(told?.isUpgraded == false && purchase(["is_upgraded": #""true""#])?.isUpgraded == true)
        #expect(purchase(["in_app_ownership_type": #""LENT""#])?.ownership == .other)
    }

    @Test(
        "If the verifyReceipt parser cannot read a member of a purchase, the parser lists the member as unreadable",
        arguments: [
            ("app_account_token", #""player-1""#, "app_account_token"), ("app_account_token", "7", "app_account_token"),
            ("app_account_token", #""5B6CDB01+2E3A-4F7B-9C1D-0123456789AB""#, "app_account_token"),
            ("in_app_ownership_type", "1", "in_app_ownership_type"), ("is_upgraded", #""perhaps""#, "is_upgraded"),
            ("is_upgraded", "{}", "is_upgraded"), ("cancellation_date", #""yesterday""#, "cancellation_date_ms"),
            ("cancellation_date_ms", "{}", "cancellation_date_ms"), ("cancellation_date", "0", "cancellation_date_ms"),
            ("expires_date_ms", #""soon""#, "expires_date_ms"), ("expires_date", #""soon""#, "expires_date_ms"),
            ("quantity", #""two""#, "quantity"),
        ])
    func unreadable(name: String, value: String, field: String) {
        #expect(purchase([name: value])?.unreadable == [field])
    }

    @Test(
        "If an answer's environment or app id is unreadable, the parser lists the member as unreadable in each purchase",
        arguments: [
            (#""environment":"Elsewhere","#, "environment"), (#""receipt_type":7,"#, "receipt_type"),
            (#""adam_id":"x","#, "adam_id"), (#""app_item_id":{},"#, "app_item_id"),
        ])
    func unreadableApp(told: String, field: String) {
        var answer = AnswerText(AnswerText.fields(), AnswerText.fields(["transaction_id": "2", "quantity": "0"]))
        answer.receipt = #""bundle_id":"a","# + told
        #expect(parse(answer.text).genuine?.purchases.map(\.unreadable) == [[field], ["quantity", field]])
    }

    @Test(
        "An element of in_app that is no JSON object counts as a purchase without a readable id",
        arguments: ["1", "null", "[]", #""x""#])
    func strangeElements(element: String) {
        let receipt = parse(AnswerText(AnswerText.fields(), element).text).genuine
        #expect(receipt?.purchases.count == 1 && receipt?.nameless.count == 1)
    }
}
