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

    private func decode(_ keys: [String], _ headers: [[UInt8]], value: [UInt8]? = nil) -> SubmissionDecoder.Decoded {
        SubmissionDecoder(signature: SubmissionSignature(keys: keys))
            .decode(value ?? record.bytes, signatureHeaders: headers)
    }

    @Test("a published code is accepted")
    func publishedCode() {
        // RFC 4231, test case 2.
        let code = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        let signature = SubmissionSignature(keys: ["Jefe"])
        let value = Array("what do ya want for nothing?".utf8)
        #expect(signature.accepts(value, headers: [Array("v1=\(code)".utf8)]))
        #expect(!signature.accepts(value + [0], headers: [Array("v1=\(code)".utf8)]))
    }

    @Test("a sender's header is under the first key, and accepted")
    func signing() {
        let value = Array("what do ya want for nothing?".utf8)
        let signed = SubmissionSignature(keys: ["Jefe", "other"]).header(for: value)
        #expect(signed == Array("v1=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843".utf8))
        #expect(SubmissionSignature(keys: ["new", "Jefe"]).accepts(value, headers: [signed ?? []]))
        #expect(SubmissionSignature(keys: []).header(for: value) == nil)
    }

    @Test("without keys nothing is checked")
    func noKeys() {
        #expect(decode([], []).submission != nil)
        #expect(decode([], [Array("v1=nonsense".utf8)]).submission != nil)
    }

    @Test("any of the keys may sign, so that they can be rotated")
    func rotation() {
        for key in ["old", "new", "鍵"] {
            #expect(decode(["old", "new", "鍵"], [header(key, over: record.bytes)]).submission != nil)
        }
        #expect(decode(["new"], [header("old", over: record.bytes)]).deadLetter?.reason == .badSignature)
    }

    @Test("one valid header among several is enough")
    func severalHeaders() {
        let valid = header("key", over: record.bytes)
        #expect(decode(["key"], [Array("v1=00".utf8), header("other", over: record.bytes), valid]).submission != nil)
    }

    @Test("hex digits may be of either case")
    func upperCaseHex() {
        let upper = header("key", over: record.bytes).map { (0x61...0x66).contains($0) ? $0 - 0x20 : $0 }
        #expect(decode(["key"], [upper]).submission != nil)
    }

    @Test("a missing or wrong signature makes a dead letter that answers nobody")
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

    @Test("the signature is checked before anything else of the record")
    func checkedFirst() {
        #expect(decode(["key"], [], value: Array("not JSON".utf8)).deadLetter?.reason == .badSignature)
        let large = [UInt8](repeating: 0x20, count: 1_048_577)
        #expect(decode(["key"], [], value: large).deadLetter?.reason == .badSignature)
        #expect(decode(["key"], [header("key", over: large)], value: large).deadLetter?.reason == .tooLarge)
        let decoder = SubmissionDecoder(signature: SubmissionSignature(keys: ["key"]))
        #expect(decoder.decode(nil, signatureHeaders: []).deadLetter?.reason == .badSignature)
        #expect(
            decoder.decode(nil, signatureHeaders: [header("key", over: [])]).deadLetter?.reason == .malformedMessage)
    }
}
