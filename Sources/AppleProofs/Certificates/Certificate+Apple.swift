import Foundation
import Fulfillment
import NamesAndTimes
import SwiftASN1
import X509

extension Certificate {
    /// The extension by which Apple marks the signers of receipts and transactions.
    package static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    /// The extension by which Apple marks its Worldwide Developer Relations authorities.
    package static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

    /// The critical extensions that receiptd checks, and critical extensions that restrict only uses on which receiptd
    /// does not rely.
    private static let knownExtensions: Set<ASN1ObjectIdentifier> = [
        leafMarker, intermediateMarker, .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage,
        .X509ExtensionID.extendedKeyUsage, [2, 5, 29, 32],
    ]

    var hasUnknownCriticalExtension: Bool {
        extensions.contains { $0.critical && !Self.knownExtensions.contains($0.oid) }
    }

    /// The subject's common name; the whole subject if it has no common name.
    var commonName: String {
        let names = subject.flatMap { $0 }.filter { $0.type == .RDNAttributeType.commonName }
        return names.lazy.compactMap { String($0.value) }.first ?? subject.description
    }

    /// The first and last moment of validity; nil if receiptd cannot read them.
    var validity: ClosedRange<Timestamp>? {
        guard let from = Timestamp(notValidBefore), let until = Timestamp(notValidAfter), from <= until else {
            return nil
        }
        // `notAfter` has whole seconds, and the certificate is valid for the whole of the last second.
        return from...until.adding(milliseconds: 999)
    }

    var isAuthority: Bool {
        guard case .isCertificateAuthority = try? extensions.basicConstraints else { return false }
        guard extensions[oid: .X509ExtensionID.keyUsage] != nil else { return true }
        return (try? extensions.keyUsage)?.keyCertSign ?? false
    }

    var isForSigning: Bool {
        if extensions[oid: .X509ExtensionID.basicConstraints] != nil {
            guard case .notCertificateAuthority = try? extensions.basicConstraints else { return false }
        }
        guard extensions[oid: .X509ExtensionID.keyUsage] != nil else { return true }
        return (try? extensions.keyUsage)?.digitalSignature ?? false
    }
}

extension Timestamp {
    fileprivate init?(_ date: Date) {
        guard let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else { return nil }
        self.init(milliseconds: milliseconds)
    }
}
