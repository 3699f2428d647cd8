import Crypto
import CryptoExtras
import Foundation
import Fulfillment
import NamesAndTimes
import SwiftASN1
import X509

@testable import AppleProofs

/// A certificate authority for tests, with a root, an intermediate and a leaf like Apple's. `Traits` sets their faults.
struct TestAuthority {
    struct Traits {
        var leafMarker = true
        var intermediateMarker = true
        var intermediateIsAuthority = true
        var leafIsAuthority = false
        var leafSigns = true
        var criticalExtension = false
        var leafFrom = "2020-01-01T00:00:00Z"
        var leafUntil = "2030-01-01T00:00:00Z"
        var leafSerial = 3
        /// Whether the root's key signs the leaf, while the leaf names the intermediate as its issuer.
        var leafIsSignedByRoot = false
        /// Whether the leaf names the root as its issuer.
        var leafNamesRoot = false
    }

    static let rootName = "Test Root"
    static let intermediateName = "Test Intermediate"

    let root: [UInt8]
    let intermediate: [UInt8]
    let leaf: [UInt8]

    /// Makes an authority for receipts, whose leaf has the seeds' RSA key.
    static func receipts(_ traits: Traits = Traits()) throws -> TestAuthority {
        try TestAuthority(leafKey: Certificate.PublicKey(TestKeys.receiptKey().publicKey), traits)
    }

    /// Makes an authority for transactions, whose leaf has a P-256 key.
    static func transactions(_ traits: Traits = Traits()) throws -> TestAuthority {
        try TestAuthority(leafKey: Certificate.PublicKey(TestKeys.transactionKey.publicKey), traits)
    }

    init(leafKey: Certificate.PublicKey, _ traits: Traits = Traits()) throws {
        root = try Self.root(TestKeys.root)
        intermediate = try Self.certificate(
            Self.intermediateName, serial: 2, key: .init(TestKeys.intermediate.publicKey), issuer: Self.rootName,
            issuerKey: .init(TestKeys.root), from: "2015-01-01T00:00:00Z", until: "2035-01-01T00:00:00Z",
            extensions: [
                Self.constraints(isAuthority: traits.intermediateIsAuthority),
                Self.usage(KeyUsage(keyCertSign: traits.intermediateIsAuthority, cRLSign: true)),
            ] + (traits.intermediateMarker ? [Self.marker(Certificate.intermediateMarker)] : []))
        leaf = try Self.certificate(
            "Test Signing", serial: traits.leafSerial, key: leafKey,
            issuer: traits.leafNamesRoot ? Self.rootName : Self.intermediateName,
            issuerKey: .init(traits.leafIsSignedByRoot ? TestKeys.root : TestKeys.intermediate),
            from: traits.leafFrom, until: traits.leafUntil,
            extensions: [
                Self.constraints(isAuthority: traits.leafIsAuthority),
                Self.usage(KeyUsage(digitalSignature: traits.leafSigns, keyEncipherment: !traits.leafSigns)),
            ] + (traits.leafMarker ? [Self.marker(Certificate.leafMarker)] : [])
                + (traits.criticalExtension
                    ? [Certificate.Extension(oid: [1, 2, 3, 4], critical: true, value: [0x05, 0x00])] : []))
    }

    static func root(_ key: P384.Signing.PrivateKey) throws -> [UInt8] {
        try certificate(
            rootName, serial: 1, key: .init(key.publicKey), issuer: rootName, issuerKey: .init(key),
            from: "2014-01-01T00:00:00Z", until: "2039-01-01T00:00:00Z",
            extensions: [constraints(isAuthority: true), usage(KeyUsage(keyCertSign: true))])
    }

    var roots: AppleRoots { AppleRoots([root].compactMap { TrustedCertificate($0) }) }
    var reader: ProofReader { ProofReader(roots: roots) }

    static func certificate(
        _ subject: String, serial: Int, key: Certificate.PublicKey, issuer: String, issuerKey: Certificate.PrivateKey,
        from: String, until: String, extensions: [Certificate.Extension]
    ) throws -> [UInt8] {
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(serial), publicKey: key,
            notValidBefore: date(from), notValidAfter: date(until),
            issuer: DistinguishedName { CommonName(issuer) }, subject: DistinguishedName { CommonName(subject) },
            signatureAlgorithm: .ecdsaWithSHA384, extensions: Certificate.Extensions(extensions),
            issuerPrivateKey: issuerKey)
        var serializer = SwiftASN1.DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    private static func date(_ text: String) -> Date {
        Date(timeIntervalSince1970: Double(Timestamp(rfc3339: text)?.milliseconds ?? 0) / 1000)
    }

    private static func constraints(isAuthority: Bool) throws -> Certificate.Extension {
        try Certificate.Extension(
            isAuthority ? BasicConstraints.isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority,
            critical: true)
    }

    private static func usage(_ usage: KeyUsage) throws -> Certificate.Extension {
        try Certificate.Extension(usage, critical: true)
    }

    private static func marker(_ oid: ASN1ObjectIdentifier) -> Certificate.Extension {
        Certificate.Extension(oid: oid, critical: false, value: [0x05, 0x00])
    }
}
