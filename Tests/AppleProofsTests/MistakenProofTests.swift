import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

/// Tests proofs with real signatures that faulty clients or servers changed before they sent the proofs to the topic.
@Suite("Proofs that clients encode wrongly by mistake")
struct MistakenProofTests {
    private let authority: TestAuthority

    init() throws { authority = try TestAuthority.receipts() }

    private func screen(_ members: String, under app: AppPolicy = AppPolicy(bundleID: "com.example.castle"))
        -> Screening?
    {
        let record = #"{"submission_id":"s","player_id":"p","bundle_id":"com.example.castle",\#(members)}"#
        let decoded = SubmissionDecoder().decode(Array(record.utf8), signatureHeaders: [])
        return decoded.submission.map { submission in
            Screening.screen(
                submission, catalog: Catalog(version: 1, apps: [app]), parser: authority.reader,
                now: Timestamp(milliseconds: 1_800_000_000_000))
        }
    }

    private func screen(receipt text: String) -> Screening? {
        var json = JSONWriter()
        json.string(text)
        return screen(#""receipt_data":\#(String(decoding: json.bytes, as: UTF8.self))"#)
    }

    /// Returns a receipt as Base64 with at least one `+`.
    private func receipt(certificates: [[UInt8]]? = nil) throws -> String {
        for number in 1...200 {
            var receipt = TestReceipt()
            receipt.purchases = [.init(transactionID: "47000000000\(1000 + number)")]
            let text = Base64.encode(try receipt.signed(by: authority, certificates: certificates))
            if text.contains("+") { return text }
        }
        throw Missing()
    }

    private struct Missing: Error {}

    private static let spoiled: [(code: String, words: String, @Sendable (String) -> String)] = [
        (
            "repaired_blanks", "had blanks in place of '+' and was repaired: encode '+' as %2B",
            { $0.replacing("+", with: " ") }
        ),
        (
            "repaired_percent_encoding", "was percent-encoded and was repaired: decode it before you send it",
            { $0.replacing("+", with: "%2B").replacing("=", with: "%3D") }
        ),
        (
            "repaired_line_ends", "had escaped line ends and was repaired: remove them before you send it",
            { $0.prefix(76) + #"\r\n"# + $0.dropFirst(76) }
        ),
        (
            "repaired_base64_twice", "was base64 of base64 and was repaired: encode the receipt's bytes once",
            { Base64.encode(Array($0.utf8)) }
        ),
    ]

    @Test("screening repairs and admits a wrongly encoded, genuine proof, under the digest of the correct text")
    func repaired() throws {
        let text = try receipt()
        guard case .admitted(let sound)? = screen(receipt: text) else {
            Issue.record("the sound one is refused")
            return
        }
        #expect(sound.repair == nil)
        for (code, words, spoil) in Self.spoiled {
            guard case .admitted(let proof)? = screen(receipt: spoil(text)) else {
                Issue.record("\(code) is refused")
                continue
            }
            #expect(proof.repair?.code == code)
            #expect(proof.repair?.sentence.hasPrefix("The proof \(words)") == true)
            #expect(proof.signature == .proven)
            #expect(proof.digest == sound.digest)
            #expect(proof.material == sound.material)
        }
    }

    @Test("screening rejects a wrongly encoded, forged proof, and the rejection names the encoding mistake")
    func unproven() throws {
        let text = try receipt(certificates: [])
        let codes = ["blanks_for_plus", "percent_encoded", "escaped_line_ends", "base64_twice"]
        for ((_, _, spoil), code) in zip(Self.spoiled, codes) {
            guard case .rejected(let refusal, _)? = screen(receipt: spoil(text)) else {
                Issue.record("\(code) is taken")
                continue
            }
            #expect(refusal.reason == .malformedReceipt)
            #expect(refusal.cause.code == code)
        }
    }

    @Test("screening rejects a proof whose Unity envelope names another store, or a transaction that the proof lacks")
    func envelopes() throws {
        let text = try receipt()
        let listed = try #require(authority.reader.examine(Array(text.utf8)).purchases.first).transactionID.text
        func screened(_ store: String, _ transaction: String) -> Screening? {
            screen(#""receipt_data":{"Store":"\#(store)","TransactionID":"\#(transaction)","Payload":"\#(text)"}"#)
        }
        for (store, transaction, code): (String, String, String?) in [
            ("AppleAppStore", listed, nil), ("MacAppStore", listed, nil), ("AppleAppStore", "", nil),
            ("AppleAppStore", "1", "envelope_mismatch"), ("GooglePlay", listed, "google_play"),
            ("fake", listed, "envelope_store"),
        ] {
            switch screened(store, transaction) {
            case .admitted?: #expect(code == nil)
            case .rejected(let refusal, _)?:
                #expect(refusal.reason == .malformedReceipt)
                #expect(refusal.cause.code == code)
            default: Issue.record("it is no submission")
            }
        }
    }

    @Test("screening and `receiptd proof` also check a Unity envelope in a repaired text")
    func spoiledEnvelopes() throws {
        let text = try receipt()
        let listed = try #require(authority.reader.examine(Array(text.utf8)).purchases.first).transactionID.text
        for (store, transaction, code): (String, String, String?) in [
            ("AppleAppStore", listed, nil), ("AppleAppStore", "1", "envelope_mismatch"),
            ("GooglePlay", listed, "google_play"),
        ] {
            let envelope = #"{"Store":"\#(store)","TransactionID":"\#(transaction)","Payload":"\#(text)"}"#
            let spoiled = envelope.replacing("+", with: "%2B").replacing("{", with: "%7B")
            switch screen(receipt: spoiled) {
            case .admitted(let proof)?: #expect(code == nil && proof.repair?.code == "repaired_percent_encoding")
            case .rejected(let refusal, _)?: #expect(refusal.cause.code == code)
            default: Issue.record("it is no submission")
            }
            #expect(authority.reader.examine(Array(spoiled.utf8)).cause?.code == code)
        }
    }

    @Test("with `local_refusals: ask`, screening still rejects a wrong Unity envelope, because Apple sees no envelope")
    func envelopesUnderAsk() throws {
        var app = AppPolicy(bundleID: "com.example.castle")
        app.announcements.asksBeforeRefusing = true
        let text = try receipt()
        for (store, code) in [("AppleAppStore", "envelope_mismatch"), ("AmazonApps", "envelope_store")] {
            let envelope = #"{"Store":"\#(store)","TransactionID":"1","Payload":"\#(text)"}"#
            guard case .rejected(let refusal, _)? = screen(#""receipt_data":\#(envelope)"#, under: app) else {
                Issue.record("Apple is asked")
                continue
            }
            #expect(refusal.reason == .malformedReceipt && refusal.cause.code == code)
        }
    }

    @Test("screening rejects a proof that Xcode signed, and the sentence of the rejection names Xcode")
    func xcode() throws {
        let stranger = try TestAuthority.receipts()
        let bytes = try TestReceipt(environment: "Xcode").signed(by: stranger, certificates: [])
        guard case .rejected(let refusal, _)? = screen(receipt: Base64.encode(bytes)) else {
            Issue.record("it is taken")
            return
        }
        #expect(refusal.reason == .unauthenticReceipt)
        #expect(refusal.cause.code == "xcode_receipt")
        #expect(
            refusal.cause.sentence
                == "Xcode signed the proof, not Apple: test with the sandbox or TestFlight in place of a StoreKit file."
        )
    }

    @Test("`receiptd proof` reports the kind, signature, app and certificate chain of a proof")
    func examined() throws {
        let text = try receipt()
        let reader = authority.reader
        for spelled in [text, "\"\(text)\"\n", #"{"Store":"AppleAppStore","Payload":"\#(text)"}"#] {
            let examined = reader.examine(Array(spelled.utf8))
            #expect(examined.kind == .receipt)
            #expect(examined.signature == .proven)
            #expect(examined.bundleID == "com.example.castle")
            #expect(examined.isSound)
            #expect(examined.chain.count == 3 && !examined.chain.contains { $0.isEmpty || $0.contains("=") })
        }
        #expect(reader.examine(try #require(Base64.decode(text.utf8))).kind == .receipt)
        let junk = reader.examine(Array("junk".utf8))
        #expect(junk.kind == .unknown && !junk.isSound)
        let unsigned = reader.examine(Array(try receipt(certificates: []).utf8))
        #expect(!unsigned.isSound && unsigned.chain.isEmpty)
    }
}
