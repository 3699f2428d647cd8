import Crypto
import CryptoExtras
import Encodings
import Foundation
import SwiftASN1

/// Signs receipts and transactions in Apple's forms, with keys that only tests trust.
///
/// The keys are PEM files in one folder. For receipts they are `leaf-key.pem`, `leaf.pem` and `intermediate.pem`. For
/// StoreKit 2 transactions they have the same names with `transaction-` in front. `root.pem` has the root for receipts,
/// then the root for transactions.
public struct SimulatedSigner: Sendable {
    private let receiptKey: _RSA.Signing.PrivateKey
    private let receiptChain: [[UInt8]]
    private let issuerAndSerialNumber: [UInt8]
    private let transactionKey: P256.Signing.PrivateKey
    /// The encoded header of every signed transaction, which contains the certificate chain.
    private let transactionHeader: String

    public enum Fault: Error, Sendable, CustomStringConvertible {
        case certificate(file: String)

        public var description: String {
            switch self {
            case .certificate(let file): "\(file) lacks a certificate that the simulator needs"
            }
        }
    }

    /// Reads the keys and the certificates. Throws if a file is missing, or is no key or certificate of the right kind.
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
        let transactionChain =
            try certificates("transaction-leaf.pem", count: 1)
            + certificates("transaction-intermediate.pem", count: 1) + roots.dropFirst().prefix(1)
        let chain = transactionChain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        transactionHeader = Base64.encodeURL(Array(#"{"alg":"ES256","x5c":[\#(chain)]}"#.utf8))
    }

    /// Signs the payload of an app receipt with RSA and SHA-256, for `SimulatedReceipt.base64Encoded(signer:)`.
    public func sign(_ payload: [UInt8]) throws -> SimulatedSignature {
        let signature = try receiptKey.signature(for: SHA256.hash(data: payload), padding: .insecurePKCS1v1_5)
        return SimulatedSignature(
            signature: Array(signature.rawRepresentation), certificates: receiptChain,
            issuerAndSerialNumber: issuerAndSerialNumber)
    }

    /// Returns the body of an App Store Server Notification, version 2, as Apple posts it.
    public func notificationBody(_ notification: SimulatedNotification) throws -> String {
        #"{"signedPayload":"\#(try signedPayload(notification))"}"#
    }

    /// Returns the JWS of a notification, which contains the JWS of its transaction and of its renewal info.
    public func signedPayload(_ notification: SimulatedNotification) throws -> String {
        let signed = (
            transaction: try notification.transaction.map(signedTransaction(claims:)),
            renewal: try notification.renewal.map(signedTransaction(claims:))
        )
        return try signedTransaction(claims: notification.payload(signed))
    }

    /// Returns the JWS (ES256) of claims, such as Apple's `JWSTransactionDecodedPayload`.
    /// - Parameter claims: a JSON object.
    public func signedTransaction(claims: String) throws -> String {
        let signed = "\(transactionHeader).\(Base64.encodeURL(Array(claims.utf8)))"
        let signature = try transactionKey.signature(for: Data(signed.utf8))
        return "\(signed).\(Base64.encodeURL(Array(signature.rawRepresentation)))"
    }

    private static func certificates(in pem: String) -> [[UInt8]] {
        ((try? PEMDocument.parseMultiple(pemString: pem)) ?? []).filter { $0.discriminator == "CERTIFICATE" }
            .map(\.derBytes)
    }

    /// Returns the `IssuerAndSerialNumber` of a certificate: SEQUENCE { issuer, serialNumber }.
    private static func issuerAndSerialNumber(of certificate: [UInt8]) -> [UInt8]? {
        guard let whole = try? DER.parse(certificate), case .constructed(let parts) = whole.content,
            let body = parts.first(where: { _ in true }), case .constructed(let nodes) = body.content
        else { return nil }
        // The fields: version [0], serialNumber, signature, issuer.
        let fields = Array(nodes.prefix(4))
        guard fields.map(\.identifier) == [.context0, .integer, .sequence, .sequence] else { return nil }
        var writer = DER.Serializer()
        writer.appendConstructedNode(identifier: .sequence) { names in
            names.serialize(fields[3])
            names.serialize(fields[1])
        }
        return writer.serializedBytes
    }
}
