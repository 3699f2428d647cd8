import Crypto
import Testing

@testable import Fulfillment

@Suite("Signed submissions")
struct SubmissionSignatureTests {
    private let record = SampleRecord()

    private func header(_ key: String, over value: [UInt8], prefix: String = "v1=") -> [UInt8] {
        let code = HMAC<SHA256>.authenticationCode(for: value, using: SymmetricKey(data: Array(key.utf8)))
        let hex = Array(code).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return Array("\(prefix)\(hex)".utf8)
    }

    private func decode(
        _ keys: [String], _ headers: [[UInt8]], key: String = "player-1", value: [UInt8]? = nil
    ) -> SubmissionDecoder.Decoded {
        SubmissionDecoder(signingKeys: keys).decode(
            key: Array(key.utf8), value ?? record.bytes, signatureHeaders: headers)
    }

    @Test(
        "the decoder accepts RFC 4231's test case 2 as a v1 signature header, and refuses the header for another value")
    func publishedCode() {
        let code = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        let signature = RecordSignature(keys: ["Jefe"], of: .submissions)
        let value = Array("what do ya want for nothing?".utf8)
        #expect(signature.accepts(key: nil, value: value, headers: [Array("v1=\(code)".utf8)]))
        #expect(!signature.accepts(key: nil, value: value + [0], headers: [Array("v1=\(code)".utf8)]))
    }

    @Test(
        "a signer makes a v1 signature header with its first key, and a receiver that has this key accepts the header")
    func signing() {
        let value = Array("what do ya want for nothing?".utf8)
        let signed = RecordSignature(keys: ["Jefe", "other"], of: .submissions).header(ofKey: [1], value: value)
        #expect(signed == Array("v1=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843".utf8))
        let receiver = RecordSignature(keys: ["new", "Jefe"], of: .submissions)
        #expect(receiver.accepts(key: [2], value: value, headers: [signed ?? []]))
        #expect(RecordSignature(keys: [], of: .submissions).header(ofKey: [1], value: value) == nil)
    }

    @Test("a v2 signature header has the code of a test vector, and is refused for another record kind or record key")
    func publishedCodeOfARecord() throws {
        let signature = RecordSignature(keys: ["Jefe"], of: .accounts)
        let key = Array("com.example.game/1a2b3c4d-0000-4000-8000-00000000abcd".utf8)
        let value = Array(#"{"player_id":"player-1"}"#.utf8)
        let made = Array("v2=d5bc59ff52edacaa48ec404ca559a65a56a2a39d1e40a7da4c772ed00290d4b2".utf8)
        #expect(signature.header(ofKey: key, value: value) == made)
        #expect(signature.accepts(key: key, value: value, headers: [made]))
        #expect(!signature.accepts(key: key + [0], value: value, headers: [made]))
        for kind in [RecordSignature.Kind.consumption, .submissions] {
            #expect(!RecordSignature(keys: ["Jefe"], of: kind).accepts(key: key, value: value, headers: [made]))
        }
    }

    @Test("a submission's v2 signature header is accepted under the record key that was signed, and under no other key")
    func submissionWithItsKey() {
        let value = Array("receiptd-v2\nreceipt-submissions\n8\nplayer-1".utf8) + record.bytes
        let signed = header("key", over: value, prefix: "v2=")
        #expect(decode(["key"], [signed]).submission != nil)
        #expect(decode(["key"], [signed], key: "player-2").deadLetter?.reason == .badSignature)
    }

    @Test("if no signing keys are set, the submission decoder checks no signature")
    func noKeys() {
        #expect(decode([], []).submission != nil)
        #expect(decode([], [Array("v1=nonsense".utf8)]).submission != nil)
    }

    @Test("the submission decoder accepts a signature with any configured key, and refuses one with a former key")
    func rotation() {
        for key in ["old", "new", "鍵"] {
            #expect(decode(["old", "new", "鍵"], [header(key, over: record.bytes)]).submission != nil)
        }
        #expect(decode(["new"], [header("old", over: record.bytes)]).deadLetter?.reason == .badSignature)
    }

    @Test("the submission decoder accepts a record with a valid signature header among several headers")
    func severalHeaders() {
        let valid = header("key", over: record.bytes)
        #expect(decode(["key"], [Array("v1=00".utf8), header("other", over: record.bytes), valid]).submission != nil)
    }

    @Test("the submission decoder accepts upper-case hex digits in a signature")
    func upperCaseHex() {
        let upper = header("key", over: record.bytes).map { (0x61...0x66).contains($0) ? $0 - 0x20 : $0 }
        #expect(decode(["key"], [upper]).submission != nil)
    }

    @Test("a submission with a missing or wrong signature is a dead letter without a sender")
    func badSignatures() {
        let valid = header("key", over: record.bytes)
        var bent = valid
        bent[20] = bent[20] == 0x30 ? 0x31 : 0x30
        let wrong: [[[UInt8]]] = [
            [], [[]], [bent], [Array(valid.dropLast())], [valid + [0x30]], [Array(valid.dropFirst(3))],
            [header("key", over: record.bytes, prefix: "v2=")], [header("key", over: record.bytes, prefix: "V1=")],
            [header("key", over: record.bytes, prefix: " v1=")], [header("wrong", over: record.bytes)],
            [header("", over: record.bytes)], [Array("v1=\(String(repeating: "g", count: 64))".utf8)],
            [header("key", over: record.bytes + [0x20])], [Array("v1=\(String(repeating: "é", count: 32))".utf8)],
        ]
        for headers in wrong {
            let letter = decode(["key"], headers).deadLetter
            #expect(letter?.reason == .badSignature)
            #expect(letter?.sender == nil)
        }
    }

    @Test("the submission decoder checks the signature before the size and the content of the record")
    func checkedFirst() {
        #expect(decode(["key"], [], value: Array("not JSON".utf8)).deadLetter?.reason == .badSignature)
        let large = [UInt8](repeating: 0x20, count: 1_048_577)
        #expect(decode(["key"], [], value: large).deadLetter?.reason == .badSignature)
        #expect(decode(["key"], [header("key", over: large)], value: large).deadLetter?.reason == .tooLarge)
        let decoder = SubmissionDecoder(signingKeys: ["key"])
        #expect(decoder.decode(nil, signatureHeaders: []).deadLetter?.reason == .badSignature)
        #expect(
            decoder.decode(nil, signatureHeaders: [header("key", over: [])]).deadLetter?.reason == .malformedMessage)
    }
}
