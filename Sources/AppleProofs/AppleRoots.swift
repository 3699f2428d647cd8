import Fulfillment
import SwiftASN1

/// The trusted root certificates: Apple's, or the roots of a PEM file in their place.
public struct AppleRoots: Sendable {
    let roots: [TrustedCertificate]
    /// The issuers of iOS 6 receipts, because these receipts contain only their leaf certificate. An issuer proves a
    /// receipt only if a root signed the issuer.
    let intermediates: [CertificateOutline]

    public enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
        case notPEM
        case noRoot
        /// The entry with this number, counted from 1, is not a certificate, or its key is not RSA (2048 to 4096 bits),
        /// P-256 or P-384.
        case unusable(certificate: Int)

        public var description: String {
            switch self {
            case .notPEM: "not a PEM file of certificates"
            case .noRoot: "it has no root certificate"
            case .unusable(let index):
                "entry \(index) is not a certificate, or its key is not RSA of 2048 to 4096 bits, P-256 or P-384"
            }
        }
    }

    /// Trusts the self-issued certificates of a PEM text in place of Apple's roots. The other certificates become
    /// issuers of iOS 6 receipts.
    public init(pem: String) throws(Fault) {
        guard let documents = try? PEMDocument.parseMultiple(pemString: pem), !documents.isEmpty else { throw .notPEM }
        var certificates: [TrustedCertificate] = []
        for (index, document) in documents.enumerated() {
            guard document.discriminator == "CERTIFICATE", let certificate = TrustedCertificate(document.derBytes)
            else { throw .unusable(certificate: index + 1) }
            certificates.append(certificate)
        }
        self.init(certificates)
        guard !roots.isEmpty else { throw .noRoot }
    }

    package init(_ certificates: [TrustedCertificate]) {
        roots = certificates.filter(\.isSelfIssued)
        intermediates = certificates.filter { !$0.isSelfIssued }.compactMap { try? CertificateOutline($0.bytes) }
    }

    /// The SHA-256 fingerprints of the roots, for a log line at start.
    public var fingerprints: [Digest256] { roots.map { Digest256(hashing: $0.bytes) } }
}
