import Encodings
import Testing

@testable import Fulfillment

@Suite("The recognition of a proof by its shape")
struct ProofShapeTests {
    private static let receipt = "MIIBAAAA"
    private static let jws = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"

    private func decoded(_ members: String) -> SubmissionDecoder.Decoded {
        let record = #"{"submission_id":"s","player_id":"p","bundle_id":"b",\#(members)}"#
        return SubmissionDecoder().decode(Array(record.utf8), signatureHeaders: [])
    }

    private static func envelope(_ payload: String, store: String = "AppleAppStore", transaction: String = "1000")
        -> String
    {
        #"{"Store":"\#(store)","TransactionID":"\#(transaction)","Payload":"\#(payload)"}"#
    }

    private static func quoted(_ text: String) -> String {
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    static let shapes: [(String, Submission.Proof)] = [
        (#""receipt_data":"\#(receipt)""#, .receipt(receipt)),
        (#""receipt_data":"\#(jws)""#, .signedTransaction(jws)),
        (#""receipt_data":" \"\#(jws)\" \n""#, .signedTransaction(jws)),
        (#""signed_transaction":"\#(jws)""#, .signedTransaction(jws)),
        (#""signed_transaction":"\#(receipt)""#, .receipt(receipt)),
        (#""signed_transaction":"junk""#, .signedTransaction("junk")),
        (#""receipt_data":"junk""#, .receipt("junk")),
        (#""receipt_data":"'\#(receipt)'""#, .receipt(receipt)),
        (#""signed_transaction":"eyJhbGci\r\n OiJFUzI1NiJ9.e30\n.c2ln""#, .signedTransaction(jws)),
    ]

    @Test(
        "the decoder recognizes a receipt or a JWS in either proof field, despite surrounding quotes and white space",
        arguments: shapes)
    func shape(members: String, proof: Submission.Proof) {
        #expect(decoded(members).submission?.proof == proof)
        #expect(decoded(members).submission?.envelope == nil)
    }

    @Test("the decoder accepts Unity's envelope as an object, as JSON text and as base64 text, in either proof field")
    func envelopes() throws {
        for payload in [Self.receipt, Self.jws] {
            let text = Self.envelope(payload)
            let base64 = Base64.encode(Array(text.utf8))
            for field in ["receipt_data", "signed_transaction"] {
                for value in [text, Self.quoted(text), Self.quoted(base64)] {
                    let submission = try #require(decoded(#""\#(field)":\#(value)"#).submission, "\(value)")
                    #expect(submission.proof == (payload == Self.jws ? .signedTransaction(payload) : .receipt(payload)))
                    #expect(submission.envelope == UnityEnvelope(store: "AppleAppStore", transactionID: "1000"))
                }
            }
        }
    }

    @Test(
        "a proof value that is neither text nor a Unity envelope is a dead letter whose cause names the field",
        arguments: [
            "{}", #"{"Store":"AppleAppStore"}"#, #"{"Payload":1}"#, #"{"Payload":"a","Payload":"b"}"#, "[]", "1",
        ])
    func noEnvelope(value: String) {
        guard case .deadLetter(let letter) = decoded(#""receipt_data":\#(value)"#) else {
            Issue.record("it was taken")
            return
        }
        #expect(letter.cause.code == "field_wrong_type")
        #expect(letter.cause.sentence.contains("receipt_data"))
    }

    static let faults: [(String, String)] = [
        (#""receipt_data":"""#, "field_empty"), (#""receipt_data":"a\u0000b""#, "field_holds_nul"),
        (#""receipt_data":"a","signed_transaction":"b""#, "several_proofs"), (#""order_id":"o""#, "proof_missing"),
        (#""transaction_id":"012""#, "transaction_id_not_digits"),
        (#""receipt_data":"a","receipt_data":"b""#, "field_repeated"),
        (#""receipt_data":"a","app_account_token":"x""#, "token_not_uuid"),
        (#""receipt_data":"a","order_id":"\#(String(repeating: "o", count: 129))""#, "field_too_long"),
    ]

    @Test(
        "if a field of a submission is wrong, the rejection event has the fault's code and the dead letter's detail",
        arguments: faults)
    func fault(members: String, code: String) throws {
        guard case .deadLetter(let letter) = decoded(members) else {
            Issue.record("it was taken")
            return
        }
        #expect(letter.cause.code == code)
        let event = OutcomeEvent.malformed(try #require(letter.sender), letter.cause, position: Sample.position())
        #expect(event.member("detail_code") == .string(code))
        #expect(event.member("detail")?.string?.contains(letter.detail) == true)
    }

    static let mistakes: [(Submission.Proof, code: String, words: String)] = [
        (.receipt("!"), "not_base64", "has characters that base64 does not have: send the receipt's bytes as base64"),
        (
            .receipt(Base64.encode([0x30, 0x82, 0x10, 0x00, 0x06])), "truncated",
            "ends before its own length says: send all of it, and check for a column or buffer that cuts it"
        ),
        (
            .receipt("MIIB%2BAAA"), "percent_encoded",
            "is percent-encoded, as in a form or URL: decode it before you send it"
        ),
        (
            .receipt(#"MIIB\r\nAAAA"#), "escaped_line_ends",
            "has escaped line ends (a backslash and a letter): remove them before you send it"
        ),
        (
            .receipt("MIIB AA"), "blanks_for_plus",
            "has blanks where base64 has '+': encode '+' as %2B where the client posts a form"
        ),
        (
            .receipt("data:application/octet-stream;base64,MIIB"), "data_url",
            "is a data: URL: send only the base64 behind the comma"
        ),
        (
            .receipt(String(repeating: "308201", count: 8)), "hex",
            "is written in hexadecimal digits: send the receipt's bytes as base64"
        ),
        // The hexadecimal text of this base64 ends in the middle of a byte.
        (
            .receipt("4d494948735159" + String(repeating: "4a4b6f5a", count: 8) + "4"), "hex",
            "is written in hexadecimal digits"
        ),
        (
            .receipt("{\"x\":1}"), "json_text",
            "is JSON: send the receipt or the JWS itself, or Unity's envelope with its Payload"
        ),
        (.receipt(Base64.encode(Array("{\"x\":1}".utf8))), "json_text", "is JSON: send the receipt or the JWS itself"),
        (
            .receipt(Base64.encode(Array("MIIBAAAA".utf8))), "base64_twice",
            "is base64 of base64: encode the receipt's bytes once"
        ),
        (
            .receipt(#"{"orderId":"GPA.1","purchaseToken":"abc"}"#), "google_play",
            "is a Google Play purchase: only purchases of the App Store are taken"
        ),
        (
            .receipt("abcdefghijklmnop.AO-J1OzabcdefGH"), "google_play",
            "is a Google Play purchase: only purchases of the App Store are taken"
        ),
        (.receipt("AAAA"), "not_a_receipt", "cannot be read as a receipt"),
        (
            .signedTransaction("eyJhbGciOiJFUzI1NiJ9.e30"), "jws_parts",
            "begins like a JWS, but does not have the three parts of a JWS: send jwsRepresentation whole"
        ),
        (.signedTransaction("a.b.c"), "not_a_jws", "cannot be read as a signed transaction"),
    ]

    @Test(
        "a malformed proof gets the code of the mistake and a sentence that describes the mistake",
        arguments: mistakes)
    func mistake(proof: Submission.Proof, code: String, words: String) {
        let cause = MalformedProof.cause(of: proof)
        #expect(cause.code == code)
        #expect(cause.sentence.hasPrefix("The proof \(words)") && cause.sentence.hasSuffix("."), "\(cause.sentence)")
    }
}
