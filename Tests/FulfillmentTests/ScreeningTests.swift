import Testing

@testable import Fulfillment

@Suite("Screening before Apple is asked")
struct ScreeningTests {
    private static let signedData: [UInt8] = [
        0x30, 0x82, 0x01, 0x00, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02, 0xA0, 0xFB, 0xFF,
    ]
    private let catalog = Catalog(version: 1, apps: [Sample.app()])

    private func screen(_ proof: Submission.Proof, bundle: BundleID = Sample.bundle) -> Screening {
        Screening.screen(
            Submission(submissionID: "s", playerID: "p", bundleID: bundle, proof: proof), catalog: catalog)
    }

    @Test("an unknown app comes before a malformed receipt")
    func unknownAppFirst() {
        for proof: Submission.Proof in [.receipt("!"), .signedTransaction("!"), .transactionID("1")] {
            #expect(screen(proof, bundle: "com.example.other") == .rejected(.unknownApp))
            #expect(screen(proof, bundle: "com.example.game ") == .rejected(.unknownApp))
        }
        #expect(screen(.receipt("!")) == .rejected(.malformedReceipt))
    }

    @Test("a bundle id is its bytes")
    func bundleBytes() {
        let catalog = Catalog(version: 1, apps: [AppPolicy(bundleID: "caf\u{E9}")])
        let submission = Submission(
            submissionID: "s", playerID: "p", bundleID: "cafe\u{301}", proof: .transactionID("1"))
        #expect(Screening.screen(submission, catalog: catalog) == .rejected(.unknownApp))
    }

    @Test("a PKCS #7 receipt goes to Apple in standard base64, known by its decoded bytes")
    func receipt() {
        let standard = Base64.encode(Self.signedData)
        let digest = Digest256(hashing: Self.signedData)
        let url = standard.replacing("+", with: "-").replacing("/", with: "_")
        for text in [standard, url, standard + "\n", " " + standard.prefix(7) + "\r\n" + standard.dropFirst(7)] {
            #expect(
                screen(.receipt(text)) == .ask(ParsedProof(digest: digest, material: .receipt(standard)), Sample.app()))
        }
    }

    @Test("an iOS 6 receipt is a property list")
    func propertyList() {
        for text in ["{ \"signature\" = \"A\"; }", "\n\t{a=1;}"] {
            guard case .ask = screen(.receipt(Base64.encode(Array(text.utf8)))) else {
                Issue.record("\(text) is refused")
                continue
            }
        }
    }

    @Test(
        "what has no receipt's structure is malformed",
        arguments: [
            [], [0x30], [0x30, 0x82, 0x01, 0x00], [0x31] + signedData.dropFirst(),
            [0x30] + [UInt8](repeating: 0, count: 40) + signedData,
            Array("{}".utf8), Array("a = b".utf8), Array("{\"json\": 1}".utf8), [0xFF, 0xFE],
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(screen(.receipt(Base64.encode(bytes))) == .rejected(.malformedReceipt))
    }

    @Test("a JWS is three base64url segments under a JSON header; it waits for credentials")
    func jws() {
        let header = Base64.encode(Array(#"{"alg":"ES256"}"#.utf8))
        let text = "\(header).e30.c2ln"
        #expect(
            screen(.signedTransaction(text))
                == .blocked(
                    .noServerAPI,
                    ParsedProof(digest: Digest256(hashing: Array(text.utf8)), material: .signedTransaction(text))))
        for wrong in [
            "a", "a.b", "\(header).e30", "\(header).e30.c2ln.x", "\(header)..c2ln", "W10.e30.c2ln", "!.e30.c2ln",
            "e30.!.e30",
        ] {
            #expect(screen(.signedTransaction(wrong)) == .rejected(.malformedReceipt), "\(wrong)")
        }
    }

    @Test("a bare transaction id waits for credentials")
    func transactionID() {
        let proof = ParsedProof(digest: Digest256(hashing: Array("1000".utf8)), material: .transactionID("1000"))
        #expect(screen(.transactionID("1000")) == .blocked(.noServerAPI, proof))
    }
}
