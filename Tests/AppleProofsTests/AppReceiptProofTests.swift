import Crypto
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("The signature of an app receipt")
struct AppReceiptProofTests {
    @Test(
        "a receipt in DER, BER or segmented encoding is proven, both with a SHA-1 and with a SHA-256 signature",
        arguments: TestReceipt.Encoding.allCases, TestReceipt.Digest.allCases)
    func provesEachEncoding(encoding: TestReceipt.Encoding, digest: TestReceipt.Digest) throws {
        let authority = try TestAuthority.receipts()
        let receipt = TestReceipt(encoding: encoding, digest: digest)
        let reading = authority.reader.readReceipt(try receipt.signed(by: authority))
        #expect(reading.signature == .proven)
        #expect(reading.receipt?.purchases.map(\.transactionID) == ["470000000000001"])
    }

    @Test(
        "a receipt with signed attributes is proven if the attributes hold the content's digest, otherwise forged",
        arguments: TestReceipt.Encoding.allCases)
    func provesSignedAttributes(encoding: TestReceipt.Encoding) throws {
        let authority = try TestAuthority.receipts()
        let receipt = TestReceipt(encoding: encoding, hasSignedAttributes: true)
        #expect(authority.reader.readReceipt(try receipt.signed(by: authority)).signature == .proven)
        let swapped = try receipt.message(
            payload: TestReceipt(purchases: [.init(quantity: 99)]).payload, signing: receipt.payload,
            leaf: authority.leaf, certificates: [authority.leaf, authority.intermediate])
        #expect(authority.reader.readReceipt(swapped).signature == .forged(.contentDigest))
    }

    @Test(
        "a receipt is proven even if its message lacks the root certificate or lists the intermediate before the leaf")
    func rootIsPinned() throws {
        let authority = try TestAuthority.receipts()
        for certificates in [[authority.leaf, authority.intermediate], [authority.intermediate, authority.leaf]] {
            let bytes = try TestReceipt().signed(by: authority, certificates: certificates)
            #expect(authority.reader.readReceipt(bytes).signature == .proven)
        }
    }

    @Test("a receipt is proven exactly if its leaf certificate was valid on the creation date, even if expired since")
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

    @Test("a flipped bit in the product id or in the signature makes a receipt forged")
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

    @Test("if a receipt's signature was made for another payload, it is forged, but the proof reader reads its content")
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
        (.init(leafMarker: false), .notProvable(.marker)),
        (.init(intermediateMarker: false), .notProvable(.marker)),
        (.init(intermediateIsAuthority: false), .forged(.intermediateUsage)),
        (.init(leafIsAuthority: true), .forged(.leafUsage)),
        (.init(leafSigns: false), .forged(.leafUsage)),
        (.init(leafIsSignedByRoot: true), .forged(.brokenChain)),
        (.init(criticalExtension: true), .notProvable(.criticalExtension)),
    ]

    @Test(
        "a flaw of the certificate chain makes a receipt forged or not provable, with the reason for this flaw",
        arguments: flaws)
    func flawedChains(traits: TestAuthority.Traits, signature: LocalSignature) throws {
        let authority = try TestAuthority.receipts(traits)
        #expect(authority.reader.readReceipt(try TestReceipt().signed(by: authority)).signature == signature)
    }

    @Test("if a receipt's chain ends in an unknown root, the receipt is forged, even if a known root has the same name")
    func otherRoots() throws {
        let authority = try TestAuthority.receipts()
        let bytes = try TestReceipt().signed(by: authority)
        let namesake = AppleRoots([try TestAuthority.root(TestKeys.otherRoot)].compactMap { TrustedCertificate($0) })
        #expect(ProofReader(roots: namesake).readReceipt(bytes).signature == .forged(.unknownRoot))
        #expect(ProofReader(roots: .builtIn).readReceipt(bytes).signature == .forged(.unknownRoot))
    }

    @Test("a receipt is forged if the signer's or issuer's certificate is missing, or if a certificate is unreadable")
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

    @Test("if the root itself issued the leaf certificate, the receipt is forged, because the intermediate is missing")
    func rootAsIntermediate() throws {
        let authority = try TestAuthority.receipts(.init(leafIsSignedByRoot: true, leafNamesRoot: true))
        for certificates in [
            [authority.leaf, authority.root], [authority.root, authority.leaf, authority.intermediate],
        ] {
            let bytes = try TestReceipt().signed(by: authority, certificates: certificates)
            #expect(authority.reader.readReceipt(bytes).signature == .forged(.intermediateMissing))
        }
    }

    @Test("a receipt with six certificates, two signers or an unknown signature algorithm is not provable")
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

    /// Returns a certificate over `key` that `signer` issued in the intermediate's name.
    private static func leaf(
        key: [UInt8], issuer: ArraySlice<UInt8>, signedBy signer: P384.Signing.PrivateKey,
        algorithm: [UInt8] = DER.oid(1, 2, 840, 10045, 4, 3, 3), padding: Int = 0
    ) throws -> [UInt8] {
        let algorithm = DER.sequence(algorithm)
        let validity = DER.sequence(
            DER.element(0x17, Array("200101000000Z".utf8)), DER.element(0x17, Array("300101000000Z".utf8)))
        let more =
            padding == 0 ? [] : DER.element(0xA3, DER.sequence(DER.octets([UInt8](repeating: 0, count: padding))))
        let body = DER.sequence(
            DER.element(0xA0, DER.integer(2)), DER.integer(9), algorithm, Array(issuer), validity, DER.sequence(), key,
            more)
        let signature = try signer.signature(for: SHA384.hash(data: body)).derRepresentation
        return DER.sequence(body, algorithm, DER.element(0x03, [0] + Array(signature)))
    }

    private static func rsaKey(bits: Int) -> [UInt8] {
        let modulus =
            [0, UInt8(truncatingIfNeeded: 0x80 >> ((8 - bits % 8) % 8))]
            + [UInt8](repeating: 0xFF, count: (bits + 7) / 8 - 1)
        return DER.sequence(
            DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 1), DER.null),
            DER.element(0x03, [0] + DER.sequence(DER.element(0x02, modulus), DER.integer(65_537))))
    }

    private static let ed448 = DER.sequence(
        DER.sequence(DER.oid(1, 3, 101, 113)), DER.element(0x03, [UInt8](repeating: 1, count: 58)))

    /// Returns the verdict on a receipt with this leaf.
    private func signature(of leaf: [UInt8], _ authority: TestAuthority) throws -> LocalSignature? {
        let bytes = try TestReceipt().message(
            payload: TestReceipt().payload, signing: TestReceipt().payload, leaf: leaf,
            certificates: [leaf, authority.intermediate])
        return authority.reader.readReceipt(bytes).signature
    }

    @Test(
        "a receipt with an RSA leaf key of unsupported size is not provable if its chain is valid, and forged if not",
        arguments: [1024, 2047, 4097, 8192, 65_536])
    func keySizes(bits: Int) throws {
        let authority = try TestAuthority.receipts()
        let issuer = try CertificateOutline(authority.intermediate).subject
        let key = Self.rsaKey(bits: bits)
        let vouchedFor = try Self.leaf(key: key, issuer: issuer, signedBy: TestKeys.intermediate)
        #expect(try signature(of: vouchedFor, authority) == .notProvable(.keySize))
        let ownMaking = try Self.leaf(key: key, issuer: issuer, signedBy: TestKeys.otherRoot)
        #expect(try signature(of: ownMaking, authority) == .forged(.brokenChain))
    }

    @Test("a huge leaf or an unknown key type makes a receipt not provable if its chain is valid, and forged if not")
    func otherDoubts() throws {
        let authority = try TestAuthority.receipts()
        let issuer = try CertificateOutline(authority.intermediate).subject
        let huge = CertificateOutline.maximumSize
        for (signer, isVouchedFor) in [(TestKeys.intermediate, true), (TestKeys.otherRoot, false)] {
            let unknown = try Self.leaf(key: Self.ed448, issuer: issuer, signedBy: signer)
            #expect(
                try signature(of: unknown, authority)
                    == (isVouchedFor ? .notProvable(.unknownAlgorithm) : .forged(.brokenChain)))
            let large = try Self.leaf(key: Self.rsaKey(bits: 2048), issuer: issuer, signedBy: signer, padding: huge)
            #expect(
                try signature(of: large, authority)
                    == (isVouchedFor ? .notProvable(.certificateSize) : .forged(.brokenChain)))
        }
        // This leaf names a signature algorithm that receiptd does not know.
        let otherwise = try Self.leaf(
            key: Self.rsaKey(bits: 2048), issuer: issuer, signedBy: TestKeys.intermediate,
            algorithm: DER.oid(1, 3, 101, 113))
        #expect(try signature(of: otherwise, authority) == .notProvable(.unknownAlgorithm))
    }

    static let forgeries: [(String, @Sendable (inout TestReceipt) -> Void)] = [
        ("two signers", { $0.signerCount = 2 }),
        ("an unknown digest", { $0.digestAlgorithm = DER.sequence(DER.oid(2, 16, 840, 1, 101, 3, 4, 2, 10)) }),
        ("an unknown signature", { $0.signatureAlgorithm = DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 10)) }),
        ("a signer named by its key", { $0.oddity = .namedByKey }),
        ("nothing else", { _ in }),
    ]

    @Test(
        "a receipt under no known root is forged, even with faults that make other receipts not provable",
        arguments: forgeries.indices)
    func forgeriesOfOwnMaking(index: Int) throws {
        let (name, bend) = Self.forgeries[index]
        let authority = try TestAuthority.receipts()
        let stranger = AppleRoots([try TestAuthority.root(TestKeys.otherRoot)].compactMap { TrustedCertificate($0) })
        var receipt = TestReceipt()
        bend(&receipt)
        let chain = [authority.leaf, authority.intermediate, authority.root]
        for certificates in [chain, chain + chain, chain + [UInt8](repeating: 0, count: 9).map { _ in authority.root }]
        {
            let bytes = try receipt.signed(by: authority, certificates: certificates)
            for roots in [AppleRoots.builtIn, stranger] {
                #expect(ProofReader(roots: roots).readReceipt(bytes).signature == .forged(.unknownRoot), "\(name)")
            }
            if case .forged? = authority.reader.readReceipt(bytes).signature {
                Issue.record("\(name): genuine under its own root")
            }
        }
    }

    @Test("a receipt with a wrong signature is forged, even with faults that make other receipts not provable")
    func doubtIsNoCloak() throws {
        let authority = try TestAuthority.receipts(.init(leafMarker: false))
        let chain = [authority.leaf, authority.intermediate, authority.root]
        for receipt in [TestReceipt(), TestReceipt(signerCount: 2)] {
            let bytes = try receipt.message(
                payload: TestReceipt(bundleID: "com.example.club").payload, signing: TestReceipt().payload,
                leaf: authority.leaf, certificates: chain + chain)
            #expect(authority.reader.readReceipt(bytes).signature == .forged(.signature))
        }
    }

    @Test(
        "a receipt with extra bytes that no signature covers is not provable, or forged if its signature is wrong",
        arguments: TestReceipt.UnsignedPlace.allCases, TestReceipt.Encoding.allCases)
    func unsignedBytes(place: TestReceipt.UnsignedPlace, encoding: TestReceipt.Encoding) throws {
        let authority = try TestAuthority.receipts()
        let receipt = TestReceipt(encoding: encoding, oddity: .unsigned(place))
        let reading = authority.reader.readReceipt(try receipt.signed(by: authority))
        #expect(reading.signature == .notProvable(.foreignParts))
        let swapped = try receipt.message(
            payload: TestReceipt(bundleID: "com.example.club").payload, signing: receipt.payload,
            leaf: authority.leaf, certificates: [authority.leaf, authority.intermediate])
        #expect(authority.reader.readReceipt(swapped).signature == .forged(.signature))
    }

    @Test("a receipt with a certificate outside its chain, such as another leaf or an unknown root, is not provable")
    func foreignCertificates() throws {
        let authority = try TestAuthority.receipts()
        let chain = [authority.leaf, authority.intermediate, authority.root]
        let strangers = [
            try TestAuthority.receipts(.init(leafSerial: 4)).leaf, try TestAuthority.root(TestKeys.otherRoot),
        ]
        for stranger in strangers {
            let bytes = try TestReceipt().signed(by: authority, certificates: chain + [stranger])
            #expect(authority.reader.readReceipt(bytes).signature == .notProvable(.foreignCertificate))
        }
    }
}
