import AppleProofs
import Crypto
import Encodings
import Foundation
import Fulfillment
import SwiftASN1
import X509

/// A certificate authority for transactions, and one transaction that it signed. The keys come from fixed bytes, so a
/// kept input means the same in the next run. Only the signatures are random, and new in each run.
enum FixedChain {
    static let claims = """
        {"transactionId":"470000000000001","originalTransactionId":"470000000000001","bundleId":"com.example.castle",\
        "productId":"com.example.castle.gems.100","purchaseDate":1714550400000,"quantity":2,"type":"Consumable",\
        "appAccountToken":"7E3FB204-2AB2-4F36-A6E2-2F9F1B1D0A5C","inAppOwnershipType":"PURCHASED","signedDate":1714550405000,\
        "environment":"Production","storefront":"USA","price":1990,"currency":"USD","appTransactionId":"704000000000001"}
        """

    static let reader = ProofReader(roots: AppleRoots([made.root].compactMap { TrustedCertificate($0) }))
    static let genuine: SignedTransactionReading = {
        let reading = reader.readSignedTransaction(token)
        guard case .read(let transaction) = reading, transaction.signature == .proven else {
            fatalError("the sample is not proven")
        }
        return reading
    }()

    static var header: String {
        let chain = [made.leaf, made.intermediate, made.root].map { "\"\(Base64.encode($0))\"" }
        return "{\"alg\":\"ES256\",\"x5c\":[\(chain.joined(separator: ","))]}"
    }
    static var signature: [UInt8] { made.signature }
    static var token: String { "\(signed).\(url(signature))" }

    static func url(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static var signed: String { "\(url(Array(header.utf8))).\(url(Array(claims.utf8)))" }

    private struct Made {
        var root: [UInt8] = []
        var intermediate: [UInt8] = []
        var leaf: [UInt8] = []
        var signature: [UInt8] = []
    }

    private static let made: Made = {
        do {
            return try make()
        } catch {
            fatalError("no chain: \(error)")
        }
    }()

    private static func make() throws -> Made {
        let rootKey = try P384.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0x11, count: 48))
        let intermediateKey = try P384.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0x22, count: 48))
        let leafKey = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0x33, count: 32))
        var made = Made()
        made.root = try certificate(
            "Root", 1, .init(rootKey.publicKey), by: "Root", .init(rootKey),
            [authority, usage(KeyUsage(keyCertSign: true))])
        made.intermediate = try certificate(
            "Intermediate", 2, .init(intermediateKey.publicKey), by: "Root", .init(rootKey),
            [authority, usage(KeyUsage(keyCertSign: true)), marker(Certificate.intermediateMarker)])
        made.leaf = try certificate(
            "Leaf", 3, .init(leafKey.publicKey), by: "Intermediate", .init(intermediateKey),
            [usage(KeyUsage(digitalSignature: true)), marker(Certificate.leafMarker)])
        let chain = [made.leaf, made.intermediate, made.root].map { "\"\(Base64.encode($0))\"" }
        let header = "{\"alg\":\"ES256\",\"x5c\":[\(chain.joined(separator: ","))]}"
        let octets = "\(url(Array(header.utf8))).\(url(Array(claims.utf8)))"
        made.signature = Array(try leafKey.signature(for: Data(octets.utf8)).rawRepresentation)
        return made
    }

    private static var authority: Certificate.Extension {
        get throws {
            try Certificate.Extension(BasicConstraints.isCertificateAuthority(maxPathLength: nil), critical: true)
        }
    }

    private static func usage(_ usage: KeyUsage) throws -> Certificate.Extension {
        try Certificate.Extension(usage, critical: true)
    }

    private static func marker(_ oid: ASN1ObjectIdentifier) -> Certificate.Extension {
        Certificate.Extension(oid: oid, critical: false, value: [0x05, 0x00])
    }

    private static func certificate(
        _ subject: String, _ serial: Int, _ key: Certificate.PublicKey, by issuer: String,
        _ issuerKey: Certificate.PrivateKey,
        _ extensions: [Certificate.Extension]
    ) throws -> [UInt8] {
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(serial), publicKey: key,
            notValidBefore: Date(timeIntervalSince1970: 1_400_000_000),
            notValidAfter: Date(timeIntervalSince1970: 2_000_000_000),
            issuer: DistinguishedName { CommonName(issuer) }, subject: DistinguishedName { CommonName(subject) },
            signatureAlgorithm: .ecdsaWithSHA384, extensions: Certificate.Extensions(extensions),
            issuerPrivateKey: issuerKey)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}
