import Encodings
import Testing

@testable import Fulfillment

@Suite("A proof is known by its shape")
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

    @Test("the field's name is a hint, quotes and blanks around it are none of it", arguments: shapes)
    func shape(members: String, proof: Submission.Proof) {
        #expect(decoded(members).submission?.proof == proof)
        #expect(decoded(members).submission?.envelope == nil)
    }

    @Test("Unity's envelope is taken as an object, as its text and as base64 of it, in either field")
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
        "an object that is no envelope is a dead letter, whose answer names the field",
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

    @Test("a record that is no submission says which field is wrong, by a code of its own", arguments: faults)
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

    static let mistakes: [(Submission.Proof, String)] = [
        (.receipt("!"), "not_base64"), (.receipt(Base64.encode([0x30, 0x82, 0x10, 0x00, 0x06])), "truncated"),
        (.receipt("MIIB%2BAAA"), "percent_encoded"), (.receipt(#"MIIB\r\nAAAA"#), "escaped_line_ends"),
        (.receipt("MIIB AA"), "blanks_for_plus"), (.receipt("data:application/octet-stream;base64,MIIB"), "data_url"),
        (.receipt(String(repeating: "308201", count: 8)), "hex"), (.receipt("{\"x\":1}"), "json_text"),
        (.receipt(Base64.encode(Array("{\"x\":1}".utf8))), "json_text"),
        (.receipt(Base64.encode(Array("MIIBAAAA".utf8))), "base64_twice"),
        (.receipt("abcdefghijklmnop.AO-J1OzabcdefGH"), "google_play"), (.receipt("AAAA"), "not_a_receipt"),
        (.signedTransaction("eyJhbGciOiJFUzI1NiJ9.e30"), "jws_parts"), (.signedTransaction("a.b.c"), "not_a_jws"),
    ]

    @Test("each mistake that a proof's text shows has a code and a sentence", arguments: mistakes)
    func mistake(proof: Submission.Proof, code: String) {
        let cause = MalformedProof.cause(of: proof)
        #expect(cause.code == code)
        #expect(cause.sentence.hasSuffix("."))
    }
}
