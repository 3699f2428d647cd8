import TestSupport
import Testing

@testable import Fulfillment

@Suite("Records that are no submissions")
struct DeadLetterTests {
    private let plain = SampleRecord()

    private func letter(_ bytes: [UInt8]?) -> DeadLetter? {
        SubmissionDecoder().decode(bytes, signatureHeaders: []).deadLetter
    }

    @Test("a record without a value is a malformed message")
    func tombstone() {
        #expect(letter(nil) == DeadLetter(reason: .malformedMessage, detail: "the record has no value"))
    }

    @Test(
        "a record that is no JSON object is a malformed message without a sender",
        arguments: [
            "", " ", "null", "1", "\"text\"", "[]", "[{\"submission_id\":\"a\",\"player_id\":\"b\"}]", "{", "{}}",
            "hello",
            "{\"submission_id\":\"a\",\"player_id\":\"b\"", "{\"submission_id\":\"a\",\"player_id\":\"b\",}",
            "\u{FEFF}{}",
        ])
    func notAnObject(text: String) {
        #expect(letter(Array(text.utf8))?.reason == .malformedMessage)
        #expect(letter(Array(text.utf8))?.sender == nil)
    }

    @Test("a record with invalid UTF-8 in a field, in a field's name or after the object is a malformed message")
    func invalidUTF8() {
        for (before, after) in [(#"{"player_id":""#, #""}"#), (#"{"x":""#, #""}"#), (#"{""#, #"":1}"#), ("{}", "")] {
            #expect(letter(Array(before.utf8) + [0xFF] + Array(after.utf8))?.reason == .malformedMessage)
        }
    }

    @Test("a record of 1 MiB is accepted, and a larger record is a dead letter that names its sender")
    func tooLarge() throws {
        func padded(_ count: Int) throws -> SampleRecord {
            let rest = count - plain.with("padding", #""""#).bytes.count
            return plain.with("padding", "\"\(String(repeating: "x", count: rest))\"")
        }
        let largest = try padded(1_048_576)
        #expect(largest.bytes.count == 1_048_576)
        #expect(largest.submission != nil)
        #expect(try padded(1_048_577).deadLetter?.reason == .tooLarge)
        #expect(try padded(1_048_577).deadLetter?.sender == SampleRecord.sender)
        #expect(try padded(3_000_000).with("order_id", #""order-1""#).deadLetter?.sender?.orderID == "order-1")
    }

    @Test(
        "a record larger than 1 MiB is a dead letter for its size, even if the record is also malformed",
        arguments: ["x", "[", "[]", "{}", "1", "\u{0}"])
    func tooLargeAndMalformed(text: String) {
        let found = letter(Array(text.utf8) + [UInt8](repeating: 0x20, count: 1_048_576))
        #expect(found?.reason == .tooLarge)
        #expect(found?.sender == nil)
    }

    @Test("a record with 100,000 nested arrays is a malformed message, and the dead letter still names the sender")
    func deep() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        for record in [plain.with("deep", deep), plain.with("product_id", deep)] {
            #expect(record.deadLetter?.reason == .malformedMessage)
            #expect(record.deadLetter?.detail == "nested deeper than 64")
            #expect(record.deadLetter?.sender == SampleRecord.sender)
        }
        #expect(plain.with("player_id", deep).deadLetter?.sender == nil)
    }

    @Test(
        "a dead letter names its sender only if submission_id and player_id are valid, and omits other invalid fields")
    func sender() {
        let broken = plain.with("app_account_token", #""x""#)
        #expect(broken.deadLetter?.sender == SampleRecord.sender)
        #expect(broken.with("bundle_id", "1").deadLetter?.sender?.bundleID == nil)
        #expect(broken.with("order_id", "1").deadLetter?.sender == SampleRecord.sender)
        for field in ["submission_id", "player_id"] {
            for json in ["1", #""""#, "null", #""\u0000""#, "\"\(String(repeating: "a", count: 129))\""] {
                #expect(broken.with(field, json).deadLetter?.sender == nil, "\(field): \(json)")
            }
        }
    }

    @Test("if a record repeats submission_id or player_id, its dead letter has no sender; other repeats are left out")
    func repeatedSender() {
        #expect(plain.adding("player_id", #""player-2""#).deadLetter?.sender == nil)
        #expect(plain.adding("submission_id", #""submission-2""#).deadLetter?.sender == nil)
        // The record also repeats a later field, and still gives no sender.
        let twice = plain.adding("player_id", #""player-2""#).with("order_id", #""1""#).adding("order_id", #""2""#)
        #expect(twice.deadLetter?.sender == nil)
        let order = plain.with("order_id", #""1""#).adding("order_id", #""2""#)
        #expect(order.deadLetter?.sender == SampleRecord.sender)
        #expect(plain.adding("bundle_id", #""other""#).deadLetter?.sender?.bundleID == nil)
    }

    @Test("a dead letter's detail repeats no content of the record")
    func detailHoldsNoContent() {
        let secret = "s3cret"
        for field in SubmissionFields.Name.allCases {
            for json in ["[\"\(secret)\"]", quoted(secret + "\0"), quoted(String(repeating: secret, count: 30))] {
                if let letter = plain.with(field.rawValue, json).deadLetter { #expect(!letter.detail.contains(secret)) }
            }
        }
        #expect(letter(Array(secret.utf8))?.detail.contains(secret) == false)
    }

    @Test(
        "if random bytes of a submission change, the decoder gives a submission or a malformed_message dead letter",
        arguments: 0..<10 as Range<UInt64>)
    func randomBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<300 {
            var bytes = plain.with("order_id", #""order\u0041""#).with("x", "[1,{\"y\":null}]").bytes
            for _ in 0...random.below(5) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            let decoded = SubmissionDecoder().decode(bytes, signatureHeaders: [])
            #expect(
                decoded.submission != nil || decoded.deadLetter?.reason == .malformedMessage,
                "seed \(seed), round \(round)")
        }
    }
}
