import AppStore
import Fulfillment
import Testing

@Suite("The status codes of verifyReceipt")
struct AnswerStatusTests {
    static let meanings: [(Int, VerifyReceiptAnswer)] = [
        (21000, .answer(.blocked(.request))),
        (21001, .trouble(of: .status)),
        (21002, .answer(.refused(.malformed))),
        (21003, .answer(.refused(.unauthentic))),
        (21004, .answer(.blocked(.sharedSecret))),
        (21005, .trouble(of: .status)),
        (21006, .answer(.refused(.expired))),
        (21007, .otherEnvironment),
        (21008, .otherEnvironment),
        (21009, .trouble(of: .status)),
        (21010, .answer(.refused(.accountNotFound))),
        (21011, .trouble(of: .status)),
        (21099, .trouble(of: .status)),
        (21100, .trouble(of: .status)),
        (21199, .trouble(of: .status)),
        (21200, .trouble(of: .status)),
        (-1, .trouble(of: .status)),
        (1, .trouble(of: .status)),
        (0, .answer(.refused(.nothingTold))),
    ]

    @Test("The verifyReceipt parser maps each status to its meaning, from a number and from text", arguments: meanings)
    func statuses(status: Int, meaning: VerifyReceiptAnswer) {
        #expect(parse(#"{"status":\#(status)}"#) == meaning)
        #expect(parse(#"{"environment":"Production","status":"\#(status)"}"#) == meaning)
    }

    @Test(
        "A verifyReceipt status from 21100 to 21199 is a refusal only if Apple clearly calls it not retryable",
        arguments: [
            (#""is_retryable":false"#, true), (#""is-retryable":false"#, true), (#""is_retryable":0"#, true),
            (#""is-retryable":"false""#, true), (#""is_retryable":"0""#, true),
            (#""is_retryable":false,"is-retryable":"0""#, true),
            (#""is_retryable":true"#, false), (#""is-retryable":1"#, false), (#""is_retryable":"true""#, false),
            (#""is_retryable":"1""#, false), (#""is_retryable":null"#, false), (#""is_retryable":"no""#, false),
            (#""is_retryable":[]"#, false), (#""is_retryable":2"#, false),
            (#""is_retryable":false,"is-retryable":true"#, false), (#""exception":"x""#, false),
        ])
    func retryable(flag: String, isRefusal: Bool) {
        let expected = isRefusal ? VerifyReceiptAnswer.answer(.refused(.refusedForGood)) : .trouble(of: .status)
        for status in [21100, 21104, 21199] {
            #expect(parse(#"{"status":\#(status),\#(flag)}"#) == expected)
        }
        #expect(parse(#"{"status":21009,\#(flag)}"#) == .trouble(of: .status))
        #expect(parse(#"{"status":21010,\#(flag)}"#) == .answer(.refused(.accountNotFound)))
    }

    @Test(
        "A body from verifyReceipt that is no JSON object counts as trouble, never as a verdict",
        arguments: [
            "", " ", "<html><body><b>Http/1.1 Service Unavailable</b></body> </html>", "[]", "0", "null", "\"21002\"",
            #"{"status":0"#, #"{"status":21010}x"#, "{'status':21010}", "\u{FEFF}{\"status\":21010}",
            // JSON has no number with a leading zero.
            AnswerText(AnswerText.fields(["transaction_id": "01000"])).text,
        ])
    func notJSON(body: String) {
        #expect(parse(body) == .trouble(of: .notJSON))
    }

    @Test(
        "If a verifyReceipt answer's status is missing or not a whole number, the answer counts as trouble",
        arguments: [
            "{}", #"{"status":null}"#, #"{"status":""}"#, #"{"status":true}"#, #"{"status":"malformed"}"#,
            #"{"status":21010.0}"#, #"{"status":2.101e4}"#, #"{"status":99999999999999999999}"#, #"{"status":[21010]}"#,
            #"{"status":" 21010"}"#,
        ])
    func noStatus(body: String) {
        #expect(parse(body) == .incomplete)
    }

    @Test("A verifyReceipt answer nested deeper than the reader's limit counts as trouble, whatever its status")
    func depth() {
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(parse(#"{"status":21010,"x":\#(deep)}"#) == .incomplete)
    }

    @Test("A verifyReceipt answer that is no UTF-8 counts as trouble")
    func notUTF8() {
        #expect(VerifyReceiptAnswer.parse([0x7B, 0xFF, 0x7D], asked: .production) == .trouble(of: .notJSON))
    }

    @Test("The label of every verifyReceipt answer is from a fixed list")
    func labels() {
        let closed = Set(
            ["genuine", "refused", "blocked", "other_environment"] + AppleAnswer.TroubleKind.allCases.map(\.rawValue))
        for status in 20990...21210 { #expect(closed.contains(parse(#"{"status":\#(status)}"#).label)) }
        #expect(parse(PublishedAnswers.live2017).label == "genuine")
        #expect(parse(#"{"status":21002}"#).label == "refused")
        #expect(parse(#"{"status":21004}"#).label == "blocked")
        #expect(parse(#"{"status":21007}"#).label == "other_environment")
        #expect(parse("<html>").label == "not_json")
    }
}
