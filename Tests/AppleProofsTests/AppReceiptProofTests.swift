import Fulfillment
import Testing

@testable import AppleProofs

@Suite("The signature of an app receipt")
struct AppReceiptProofTests {
    @Test(
        "DER, BER and a content in segments prove the same, with SHA-1 and with SHA-256",
        arguments: TestReceipt.Encoding.allCases, TestReceipt.Digest.allCases)
    func provesEachEncoding(encoding: TestReceipt.Encoding, digest: TestReceipt.Digest) throws {
        let authority = try TestAuthority.receipts()
        let receipt = TestReceipt(encoding: encoding, digest: digest)
        let reading = authority.reader.readReceipt(try receipt.signed(by: authority))
        #expect(reading.signature == .proven)
        #expect(reading.receipt?.purchases.map(\.transactionID) == ["470000000000001"])
    }

    @Test("signed attributes are proven by the digest they hold", arguments: TestReceipt.Encoding.allCases)
    func provesSignedAttributes(encoding: TestReceipt.Encoding) throws {
        let authority = try TestAuthority.receipts()
        let receipt = TestReceipt(encoding: encoding, hasSignedAttributes: true)
        #expect(authority.reader.readReceipt(try receipt.signed(by: authority)).signature == .proven)
        let swapped = try receipt.message(
            payload: TestReceipt(purchases: [.init(quantity: 99)]).payload, signing: receipt.payload,
            leaf: authority.leaf, certificates: [authority.leaf, authority.intermediate])
        #expect(authority.reader.readReceipt(swapped).signature == .forged(.contentDigest))
    }

    @Test("the root need not be in the message, and the certificates may stand in any order")
    func rootIsPinned() throws {
        let authority = try TestAuthority.receipts()
        for certificates in [[authority.leaf, authority.intermediate], [authority.intermediate, authority.leaf]] {
            let bytes = try TestReceipt().signed(by: authority, certificates: certificates)
            #expect(authority.reader.readReceipt(bytes).signature == .proven)
        }
    }

    @Test("a receipt outlives its certificates: it is judged as of its creation date")
    func validityAsOfCreation() throws {
        let authority = try TestAuthority.receipts(
            .init(leafFrom: "2015-11-13T02:15:09Z", leafUntil: "2023-02-07T21:48:47Z"))
        for (date, signature) in [
            ("2023-02-07T21:48:47Z", LocalSignature.proven), ("2015-11-13T02:15:09Z", .proven),
            ("2023-02-07T21:48:48Z", .forged(.notValidThen)), ("2015-11-13T02:15:08Z", .forged(.notValidThen)),
        ] {
            let bytes = try TestReceipt(creationDate: date).signed(by: authority)
            #expect(authority.reader.readReceipt(bytes).signature == signature, "\(date)")
        }
    }

    @Test("a flipped bit anywhere in the payload or the signature is a forgery")
    func flippedBits() throws {
        let authority = try TestAuthority.receipts()
        let reader = authority.reader
        let bytes = try TestReceipt().signed(by: authority)
        let product = try #require(bytes.firstRange(of: Array("gems.100".utf8)))
        var changed = bytes
        changed[product.lowerBound] ^= 1
        #expect(reader.readReceipt(changed).signature == .forged(.signature))
        changed = bytes
        changed[bytes.count - 1] ^= 1
        #expect(reader.readReceipt(changed).signature == .forged(.signature))
    }

    @Test("another payload under a genuine signature is a forgery")
    func swappedPayload() throws {
        let authority = try TestAuthority.receipts()
        let bytes = try TestReceipt().message(
            payload: TestReceipt(bundleID: "com.example.club").payload, signing: TestReceipt().payload,
            leaf: authority.leaf, certificates: [authority.leaf, authority.intermediate])
        let reading = authority.reader.readReceipt(bytes)
        #expect(reading.signature == .forged(.signature))
        #expect(reading.receipt?.bundleID == "com.example.club")
    }

    static let flaws: [(TestAuthority.Traits, LocalSignature)] = [
        (.init(leafMarker: false), .forged(.leafMarker)),
        (.init(intermediateMarker: false), .forged(.intermediateMarker)),
        (.init(intermediateIsAuthority: false), .forged(.intermediateUsage)),
        (.init(leafIsAuthority: true), .forged(.leafUsage)),
        (.init(leafSigns: false), .forged(.leafUsage)),
        (.init(leafIsSignedByRoot: true), .forged(.brokenChain)),
        (.init(criticalExtension: true), .notProvable(.criticalExtension)),
    ]

    @Test("each flaw of a chain is refused for its own reason", arguments: flaws)
    func flawedChains(traits: TestAuthority.Traits, signature: LocalSignature) throws {
        let authority = try TestAuthority.receipts(traits)
        #expect(authority.reader.readReceipt(try TestReceipt().signed(by: authority)).signature == signature)
    }

    @Test("a chain that ends elsewhere is forged, even under a root of the same name")
    func otherRoots() throws {
        let authority = try TestAuthority.receipts()
        let bytes = try TestReceipt().signed(by: authority)
        let namesake = AppleRoots([try TestAuthority.root(TestKeys.otherRoot)].compactMap { TrustedCertificate($0) })
        #expect(ProofReader(roots: namesake).readReceipt(bytes).signature == .forged(.unknownRoot))
        #expect(ProofReader(roots: .builtIn).readReceipt(bytes).signature == .forged(.unknownRoot))
    }

    @Test("a message must hold the signer's certificate and its issuer's")
    func missingCertificates() throws {
        let authority = try TestAuthority.receipts()
        let cases: [([[UInt8]], Forgery)] = [
            ([], .signerCertificateMissing), ([authority.intermediate, authority.root], .signerCertificateMissing),
            ([authority.leaf], .intermediateMissing), ([authority.leaf, authority.root], .intermediateMissing),
            ([authority.leaf, authority.intermediate, [0x30, 0x00]], .unreadableCertificate),
        ]
        for (certificates, forgery) in cases {
            let bytes = try TestReceipt().signed(by: authority, certificates: certificates)
            #expect(authority.reader.readReceipt(bytes).signature == .forged(forgery))
        }
    }

    @Test("what is past the limits here is not provable, and not forged")
    func notProvable() throws {
        let authority = try TestAuthority.receipts()
        let reader = authority.reader
        let chain = [authority.leaf, authority.intermediate]
        let five = chain + [authority.root, authority.root, authority.root]
        #expect(reader.readReceipt(try TestReceipt().signed(by: authority, certificates: five)).signature == .proven)
        #expect(
            reader.readReceipt(try TestReceipt().signed(by: authority, certificates: five + [authority.root])).signature
                == .notProvable(.tooManyCertificates))
        #expect(
            reader.readReceipt(try TestReceipt(signerCount: 2).signed(by: authority)).signature
                == .notProvable(.tooManySigners))
        let pss = DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 10))
        #expect(
            reader.readReceipt(try TestReceipt(signatureAlgorithm: pss).signed(by: authority)).signature
                == .notProvable(.unknownAlgorithm))
    }

    @Test("a key's size is judged before anything is computed with it", arguments: [1024, 2047, 4097, 8192, 65_536])
    func keySizes(bits: Int) throws {
        let authority = try TestAuthority.receipts()
        let modulus =
            [0, UInt8(truncatingIfNeeded: 0x80 >> ((8 - bits % 8) % 8))]
            + [UInt8](repeating: 0xFF, count: (bits + 7) / 8 - 1)
        let key = DER.sequence(
            DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 1), DER.null),
            DER.element(0x03, [0] + DER.sequence(DER.element(0x02, modulus), DER.integer(65_537))))
        let leaf = try Self.leaf(key: key, issuer: CertificateOutline(authority.intermediate).subject)
        let bytes = try TestReceipt().message(
            payload: TestReceipt().payload, signing: TestReceipt().payload, leaf: leaf,
            certificates: [leaf, authority.intermediate])
        #expect(authority.reader.readReceipt(bytes).signature == .notProvable(.keySize))
    }

    @Test("a key of an unknown kind is not provable")
    func unknownKey() throws {
        let authority = try TestAuthority.receipts()
        let key = DER.sequence(
            DER.sequence(DER.oid(1, 3, 101, 113)), DER.element(0x03, [UInt8](repeating: 1, count: 58)))
        let leaf = try Self.leaf(key: key, issuer: CertificateOutline(authority.intermediate).subject)
        let bytes = try TestReceipt().message(
            payload: TestReceipt().payload, signing: TestReceipt().payload, leaf: leaf,
            certificates: [leaf, authority.intermediate])
        #expect(authority.reader.readReceipt(bytes).signature == .notProvable(.unknownAlgorithm))
    }

    /// A certificate's skeleton around a key, signed by nobody.
    private static func leaf(key: [UInt8], issuer: ArraySlice<UInt8>) throws -> [UInt8] {
        let algorithm = DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 11), DER.null)
        let validity = DER.sequence(
            DER.element(0x17, Array("200101000000Z".utf8)), DER.element(0x17, Array("300101000000Z".utf8)))
        let body = DER.sequence(
            DER.element(0xA0, DER.integer(2)), DER.integer(9), algorithm, Array(issuer), validity, DER.sequence(), key)
        return DER.sequence(body, algorithm, DER.element(0x03, [0, 1]))
    }
}
