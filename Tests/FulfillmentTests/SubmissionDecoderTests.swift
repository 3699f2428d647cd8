import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The submission decoder, field by field")
struct SubmissionDecoderTests {
    private let plain = SampleRecord()
    private static let fields = SubmissionFields.Name.allCases.map(\.rawValue)
    private static let proofs = ["receipt_data", "signed_transaction", "transaction_id"]
    private static let names = ["submission_id", "player_id", "order_id", "device_id"]

    /// Returns the record with `field` set. A proof replaces the record's receipt.
    private func record(_ field: String, _ json: String) -> SampleRecord {
        (Self.proofs.contains(field) ? plain.with("receipt_data", nil) : plain).with(field, json)
    }

    @Test("a submission needs only submission_id, player_id, bundle_id and a proof")
    func least() {
        #expect(
            plain.submission
                == Submission(
                    submissionID: "submission-1", playerID: "player-1", bundleID: "com.example.game",
                    proof: .receipt("MA==")))
    }

    @Test("the submission decoder reads every known field and ignores an unknown field")
    func everyField() {
        let record = plain.with("product_id", #""gold.1""#).with("order_id", #""order-1""#)
            .with("app_account_token", "\"\(Sample.token.uppercased())\"").with("device_id", #""device-1""#)
            .with("currency", #""cny""#).with("submitted_at", #""2026-11-20T17:30:00+08:00""#)
            .with("unknown", #"{"deep":[1,null,true]}"#).adding("unknown", "1")
        #expect(
            record.submission
                == Submission(
                    submissionID: "submission-1", playerID: "player-1", bundleID: "com.example.game",
                    proof: .receipt("MA=="), productID: "gold.1", orderID: "order-1", appAccountToken: Sample.token,
                    deviceID: "device-1", currency: "CNY", submittedAt: Sample.recordTime))
    }

    @Test(
        "a submission whose required field is missing or null is a dead letter",
        arguments: ["submission_id", "player_id", "bundle_id"])
    func required(field: String) {
        for record in [plain.with(field, nil), plain.with(field, "null")] {
            #expect(record.deadLetter?.reason == .malformedMessage)
            #expect(record.deadLetter?.detail == "\(field) is missing")
            #expect((record.deadLetter?.sender == nil) == (field != "bundle_id"))
        }
    }

    @Test("a submission with a field of the wrong type is a dead letter", arguments: fields)
    func wrongType(field: String) {
        for json in ["1", "1.5", "true", "false", "{}", "[]", #"["a"]"#, #"{"a":"b"}"#] {
            let letter = record(field, json).deadLetter
            #expect(letter?.reason == .malformedMessage, "\(field): \(json)")
            #expect(letter?.detail == "\(field) is not a string")
        }
    }

    @Test(
        "a submission with an empty field or NUL in a field is a dead letter, except in currency and submitted_at",
        arguments: fields)
    func emptyAndNUL(field: String) {
        let isLenient = field == "currency" || field == "submitted_at"
        for json in [#""""#, #""\u0000""#, #""a\u0000b""#] {
            let record = record(field, json)
            #expect((record.submission != nil) == isLenient, "\(field): \(json)")
            if !isLenient { #expect(record.deadLetter?.reason == .malformedMessage) }
        }
    }

    @Test(
        "in a submission, null for an optional field counts as a missing field, and after a value as a repeated field",
        arguments: fields.dropFirst(3))
    func null(field: String) {
        let record = plain.adding(field, "null")
        if field == "receipt_data" {
            #expect(record.deadLetter?.detail == "receipt_data appears twice")
        } else {
            #expect(record.submission == plain.submission)
        }
    }

    @Test(
        "a submission that has a known field twice is a dead letter, even if both values are equal", arguments: fields)
    func duplicate(field: String) {
        let json = field == "app_account_token" ? "\"\(Sample.token)\"" : #""1""#
        let letter = record(field, json).adding(field, json).deadLetter
        #expect(letter?.detail == "\(field) appears twice")
    }

    @Test(
        "a submission's id of 128 scalars is accepted, and an id of 129 scalars makes a dead letter, in any script",
        arguments: names)
    func nameLength(field: String) {
        for scalar in ["a", "é", "漢", "😀", "\u{301}", #"\u00e9"#, #"\ud83d\ude00"#] {
            let longest = record(field, "\"\(String(repeating: scalar, count: 128))\"")
            #expect(longest.submission != nil, "\(field) of 128 \(scalar)")
            let tooLong = record(field, "\"\(String(repeating: scalar, count: 129))\"")
            #expect(tooLong.deadLetter?.detail == "\(field) is longer than 128 characters", "\(scalar)")
        }
    }

    @Test("a product_id or receipt_data of 100,000 characters is accepted", arguments: ["product_id", "receipt_data"])
    func longText(field: String) {
        #expect(record(field, "\"\(String(repeating: "a", count: 100_000))\"").submission != nil)
    }

    @Test("a bundle id has at most 255 characters, because events repeat it")
    func bundleIDLength() {
        #expect(record("bundle_id", "\"\(String(repeating: "a", count: 255))\"").submission != nil)
        #expect(record("bundle_id", "\"\(String(repeating: "a", count: 256))\"").deadLetter?.sender?.bundleID == nil)
        #expect(
            record("bundle_id", "\"\(String(repeating: "a", count: 256))\"").deadLetter?.detail
                == "bundle_id is longer than 255 characters")
    }

    @Test("a submission must have exactly one proof")
    func oneProof() {
        #expect(plain.with("receipt_data", nil).deadLetter?.sender == SampleRecord.sender)
        #expect(plain.with("receipt_data", "null").deadLetter != nil)
        #expect(record("signed_transaction", #""a.b.c""#).submission?.proof == .signedTransaction("a.b.c"))
        #expect(record("transaction_id", #""1000""#).submission?.proof == .transactionID("1000"))
        for second in ["signed_transaction", "transaction_id"] {
            #expect(plain.with(second, #""1""#).deadLetter?.sender == SampleRecord.sender)
        }
        #expect(record("transaction_id", #""1""#).with("signed_transaction", #""a.b.c""#).deadLetter != nil)
    }

    @Test(
        "a transaction_id is 1 to 20 digits without a leading zero",
        arguments: [
            ("1", true), ("0", false), ("01", false), ("0470001", false), ("00", false), ("12345678901234567890", true),
            ("123456789012345678901", false), ("12a", false),
            ("-1", false), ("+1", false), (" 1", false), ("1 ", false), ("1.0", false), ("１", false), ("٣", false),
        ])
    func transactionID(text: String, isTaken: Bool) {
        #expect((record("transaction_id", quoted(text)).submission != nil) == isTaken)
    }

    @Test(
        "a submission whose app_account_token is no UUID is a dead letter",
        arguments: [
            "x", "6e3b2f500c1d4a5e9f70112233445566", "{6e3b2f50-0c1d-4a5e-9f70-112233445566}",
            "6e3b2f50-0c1d-4a5e-9f70-11223344556", "6e3b2f50-0c1d-4a5e-9f70-1122334455667",
            "6e3b2f50-0c1d-4a5e-9f70-11223344556g",
            "6e3b2f50 0c1d 4a5e 9f70 112233445566", " 6e3b2f50-0c1d-4a5e-9f70-112233445566",
        ])
    func token(text: String) {
        #expect(record("app_account_token", quoted(text)).deadLetter?.detail == "app_account_token is not a UUID")
    }

    @Test(
        "the submission decoder ignores an ill-formed currency, and reads a well-formed currency in upper case",
        arguments: [
            ("CNY", "CNY"), ("usd", "USD"), ("Eur", "EUR"), ("US", nil), ("USDT", nil), ("12$", nil), ("U D", nil),
            ("元", nil),
            ("\u{0}AB", nil), ("[\\]", nil), ("ÁBC", nil),
        ] as [(String, String?)])
    func currency(text: String, read: String?) {
        #expect(record("currency", quoted(text)).submission?.currency == read)
        #expect(record("currency", quoted(text)).submission != nil)
    }

    @Test(
        "the submission decoder ignores an ill-formed submitted_at",
        arguments: ["yesterday", "2026-11-20", "1795167000", "2026-02-30T00:00:00Z"])
    func submittedAt(text: String) {
        let submission = record("submitted_at", quoted(text)).submission
        #expect(submission != nil)
        #expect(submission?.submittedAt == nil)
    }
}
