import Crypto
import CryptoExtras
import Foundation

/// Signs receipts and transactions in Apple's forms, with keys that nobody but a test trusts.
///
/// Its folder holds PEM files: `leaf-key.pem`, `leaf.pem` and `intermediate.pem` for receipts, the same behind
/// `transaction-` for StoreKit 2 transactions, and `root.pem` with the roots of both, in this order.
public struct SimulatedSigner: Sendable {
    private let receiptKey: _RSA.Signing.PrivateKey
    private let receiptChain: [[UInt8]]
    private let issuerAndSerialNumber: [UInt8]
    private let transactionKey: P256.Signing.PrivateKey
    private let transactionChain: [[UInt8]]

    public enum Fault: Error, Sendable, CustomStringConvertible {
        case certificate(file: String)

        public var description: String {
            switch self {
            case .certificate(let file): "\(file) does not hold the certificates that it should"
            }
        }
    }

    /// Throws where a file is missing or not what it should be.
    public init(folder: String) throws {
        func text(_ name: String) throws -> String {
            try String(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent(name), encoding: .utf8)
        }
        func certificates(_ name: String, count: Int) throws -> [[UInt8]] {
            let found = Self.certificates(in: try text(name))
            guard found.count >= count else { throw Fault.certificate(file: name) }
            return found
        }
        let roots = try certificates("root.pem", count: 2)
        receiptKey = try _RSA.Signing.PrivateKey(pemRepresentation: text("leaf-key.pem"))
        receiptChain =
            try certificates("leaf.pem", count: 1) + certificates("intermediate.pem", count: 1) + roots.prefix(1)
        guard let names = Self.issuerAndSerialNumber(of: receiptChain[0]) else {
            throw Fault.certificate(file: "leaf.pem")
        }
        issuerAndSerialNumber = names
        transactionKey = try P256.Signing.PrivateKey(pemRepresentation: text("transaction-leaf-key.pem"))
        transactionChain =
            try certificates("transaction-leaf.pem", count: 1)
            + certificates("transaction-intermediate.pem", count: 1) + roots.dropFirst().prefix(1)
    }

    /// Over an app receipt's payload: RSA with SHA-256, as `SimulatedReceipt.base64Encoded(signer:)` wants it.
    public func sign(_ payload: [UInt8]) throws -> SimulatedSignature {
        let signature = try receiptKey.signature(for: SHA256.hash(data: payload), padding: .insecurePKCS1v1_5)
        return SimulatedSignature(
            signature: Array(signature.rawRepresentation), certificates: receiptChain,
            issuerAndSerialNumber: issuerAndSerialNumber)
    }

    /// The body of an App Store Server Notification, version 2, as Apple posts it.
    public func notificationBody(_ notification: SimulatedNotification) throws -> String {
        let payload = notification.payload(
            signedTransaction: try notification.transaction.map(signedTransaction(claims:)))
        return #"{"signedPayload":"\#(try signedTransaction(claims: payload))"}"#
    }

    /// The JWS, ES256, of a payload such as Apple's `JWSTransactionDecodedPayload`.
    /// - Parameter claims: a JSON object.
    public func signedTransaction(claims: String) throws -> String {
        let chain = transactionChain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let header = #"{"alg":"ES256","x5c":[\#(chain)]}"#
        let signed = "\(Self.base64URL(Array(header.utf8))).\(Self.base64URL(Array(claims.utf8)))"
        let signature = try transactionKey.signature(for: Data(signed.utf8))
        return "\(signed).\(Self.base64URL(Array(signature.rawRepresentation)))"
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func certificates(in pem: String) -> [[UInt8]] {
        pem.split(separator: "-----BEGIN CERTIFICATE-----").dropFirst(pem.hasPrefix("-----BEGIN") ? 0 : 1)
            .compactMap { $0.split(separator: "-----END CERTIFICATE-----").first.map(String.init) }
            .compactMap(Base64.decode)
    }

    /// `IssuerAndSerialNumber` of a certificate: SEQUENCE { issuer, serialNumber }.
    private static func issuerAndSerialNumber(of certificate: [UInt8]) -> [UInt8]? {
        var outer = DERReader(certificate)
        guard var whole = outer.enter(DERWriter.Tag.sequence), var body = whole.enter(DERWriter.Tag.sequence),
            let version = body.next(), version.tag == DERWriter.Tag.context0,
            let serial = body.next(DERWriter.Tag.integer), body.next(DERWriter.Tag.sequence) != nil,
            let issuer = body.next(DERWriter.Tag.sequence)
        else { return nil }
        var writer = DERWriter()
        writer.element(DERWriter.Tag.sequence) { names in
            names.primitive(DERWriter.Tag.sequence, certificate[issuer.content])
            names.primitive(DERWriter.Tag.integer, certificate[serial.content])
        }
        return writer.bytes
    }
}
