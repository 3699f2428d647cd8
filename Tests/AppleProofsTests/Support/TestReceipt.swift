import Crypto
import CryptoExtras
import X509

@testable import AppleProofs

/// An app receipt that a test makes.
struct TestReceipt {
    struct Purchase {
        var transactionID = "470000000000001"
        var productID = "com.example.castle.gems.100"
        var quantity: Int64 = 1
        var purchaseDate = "2024-05-01T08:00:00Z"
        var kind: Int64 = 1
        var expiryDate = ""
        var cancellationDate = ""
        var originalTransactionID: String?
    }

    enum Encoding: CaseIterable {
        case der
        case indefinite
        /// The message has the content in segments of 100 octets.
        case segmented
    }

    enum Digest: CaseIterable {
        case sha1
        case sha256
    }

    /// The places of a message that no signature covers. Apple's receipts leave these places empty.
    enum UnsignedPlace: CaseIterable {
        case revocations
        case afterSigners
        case unsignedAttributes
        case afterSignature
        case afterSerialNumber
        case digestParameters
        case signatureParameters
        case digestSet
        case afterOctets
        case afterContent
        case afterSignedData
        case afterMessage
        case version
        case signerVersion
    }

    enum Oddity: Equatable {
        /// A key identifier names the signer, in place of issuer and serial number.
        case namedByKey
        /// The place has bytes that Apple's receipts do not have there.
        case unsigned(UnsignedPlace)
    }

    var bundleID: String? = "com.example.castle"
    let appAppleID: Int64 = 1_450_000_001
    var environment = "Production"
    var creationDate: String? = "2024-05-01T08:00:05Z"
    var purchases = [Purchase()]
    var encoding = Encoding.der
    var digest = Digest.sha256
    var hasSignedAttributes = false
    var signerCount = 1
    /// The identifier of the signature algorithm; nil for rsaEncryption, which Apple writes.
    var signatureAlgorithm: [UInt8]?
    /// The digest algorithm that the message names; nil for the used algorithm.
    var digestAlgorithm: [UInt8]?
    /// The difference from a message of Apple's; nil for no difference.
    var oddity: Oddity?
    /// The values that replace attributes of each purchase, such as the cancellation date or the quantity, by attribute
    /// type.
    var overrides: [Int64: [UInt8]] = [:]

    var payload: [UInt8] {
        var attributes = [
            Self.attribute(0, DER.utf8(environment)), Self.attribute(1, DER.integer(appAppleID)),
            Self.attribute(3, DER.utf8("1.0")), Self.attribute(4, [0xEE, 0xF2, 0x5F]), Self.attribute(8, DER.ia5("")),
        ]
        if let bundleID { attributes.append(Self.attribute(2, DER.utf8(bundleID))) }
        if let creationDate { attributes.append(Self.attribute(12, DER.ia5(creationDate))) }
        attributes += purchases.map { Self.attribute(17, value($0)) }
        return DER.element(0x31, attributes.flatMap(\.self))
    }

    static func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
        DER.sequence(DER.integer(type), DER.integer(1), DER.octets(value))
    }

    private func value(_ purchase: Purchase) -> [UInt8] {
        let values: [(Int64, [UInt8])] = [
            (1709, DER.utf8("")), (1712, DER.ia5(purchase.cancellationDate)),
            (1701, DER.integer(purchase.quantity)), (1707, DER.integer(purchase.kind)),
            (1703, DER.utf8(purchase.transactionID)),
            (1705, DER.utf8(purchase.originalTransactionID ?? purchase.transactionID)),
            (1704, DER.ia5(purchase.purchaseDate)), (1706, DER.ia5(purchase.purchaseDate)),
            (1708, DER.ia5(purchase.expiryDate)), (1702, DER.utf8(purchase.productID)),
        ]
        return DER.element(0x31, values.flatMap { Self.attribute($0, overrides[$0] ?? $1) })
    }

    /// Returns the receipt that `authority`'s leaf signed, with `certificates` in the message; nil for the authority's
    /// three certificates.
    func signed(by authority: TestAuthority, certificates: [[UInt8]]? = nil) throws -> [UInt8] {
        try message(
            payload: payload, signing: payload, leaf: authority.leaf,
            certificates: certificates ?? [authority.leaf, authority.intermediate, authority.root])
    }

    /// Returns the message around `payload`, with a signature over `signing`.
    func message(
        payload: [UInt8], signing: [UInt8], leaf: [UInt8], certificates: [[UInt8]]
    ) throws -> [UInt8] {
        let outline = try CertificateOutline(leaf)
        let isNamedByKey = oddity == .namedByKey
        let attributes = hasSignedAttributes ? signedAttributes(of: signing) : nil
        let signature = try sign(attributes.map { DER.element(0x31, $0) } ?? signing)
        let signer = DER.sequence(
            DER.integer(isNamedByKey || oddity == .unsigned(.signerVersion) ? 3 : 1),
            isNamedByKey
                ? DER.element(0x80, [UInt8](repeating: 7, count: 20))
                : DER.sequence(
                    Array(outline.issuer), DER.element(0x02, Array(outline.serialNumber)), junk(.afterSerialNumber)),
            digestAlgorithm ?? digestIdentifier(junk(.digestParameters)),
            attributes.map { DER.element(0xA0, $0) } ?? [],
            signatureAlgorithm
                ?? DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 1), DER.null, junk(.signatureParameters)),
            DER.octets(signature), junk(.unsignedAttributes, tag: 0xA1), junk(.afterSignature))
        let signers = (0..<signerCount).flatMap { _ in signer }
        return wrapped(payload, certificates: certificates, signers: signers)
    }

    /// Returns an element with the tag `tag` if the message has extra bytes at this place, otherwise nothing.
    private func junk(_ place: UnsignedPlace, tag: UInt8 = 0x30) -> [UInt8] {
        oddity == .unsigned(place) ? DER.element(tag, DER.sequence(DER.octets([1, 2, 3]))) : []
    }

    private func digestIdentifier(_ parameters: [UInt8] = []) -> [UInt8] {
        switch digest {
        case .sha1: DER.sequence(DER.oid(1, 3, 14, 3, 2, 26), DER.null, parameters)
        case .sha256: DER.sequence(DER.oid(2, 16, 840, 1, 101, 3, 4, 2, 1), DER.null, parameters)
        }
    }

    func wrapped(_ payload: [UInt8], certificates: [[UInt8]], signers: [UInt8]) -> [UInt8] {
        let frame = encoding == .der ? DER.element : DER.indefinite
        let content =
            encoding == .segmented
            ? DER.indefinite(
                0x24,
                stride(from: 0, to: payload.count, by: 100).flatMap { start in
                    DER.octets(Array(payload[start..<min(start + 100, payload.count)]))
                }) : DER.octets(payload)
        let data =
            DER.oid(1, 2, 840, 113549, 1, 7, 1)
            + frame(0xA0, content + junk(.afterOctets)) + junk(.afterContent)
        let signedData =
            DER.integer(oddity == .unsigned(.version) ? 3 : 1) + DER.set(digestIdentifier(), junk(.digestSet))
            + frame(0x30, data) + (certificates.isEmpty ? [] : frame(0xA0, certificates.flatMap(\.self)))
            + junk(.revocations, tag: 0xA1) + DER.element(0x31, signers) + junk(.afterSigners)
        return frame(
            0x30,
            DER.oid(1, 2, 840, 113549, 1, 7, 2) + frame(0xA0, frame(0x30, signedData) + junk(.afterSignedData))
                + junk(.afterMessage))
    }

    /// Returns the content type and the message digest, in DER's order of a SET OF.
    private func signedAttributes(of content: [UInt8]) -> [UInt8] {
        DER.sequence(DER.oid(1, 2, 840, 113549, 1, 9, 3), DER.set(DER.oid(1, 2, 840, 113549, 1, 7, 1)))
            + DER.sequence(DER.oid(1, 2, 840, 113549, 1, 9, 4), DER.set(DER.octets(hash(content))))
    }

    private func hash(_ bytes: [UInt8]) -> [UInt8] {
        switch digest {
        case .sha1: Array(Insecure.SHA1.hash(data: bytes))
        case .sha256: Array(SHA256.hash(data: bytes))
        }
    }

    private func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        let key = try TestKeys.receiptKey()
        switch digest {
        case .sha1:
            return Array(
                try key.signature(for: Insecure.SHA1.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
        case .sha256:
            return Array(
                try key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }
}

extension ReceiptReading {
    var receipt: LocalReceipt? {
        if case .read(let receipt) = self { receipt } else { nil }
    }

    var signature: LocalSignature? { receipt?.signature }
}
