import Fulfillment
import NamesAndTimes
import SwiftASN1
import X509

/// A certificate that receiptd trusts, because it is built in or because the operator named it.
package struct TrustedCertificate: Sendable {
    let bytes: [UInt8]
    let subject: ArraySlice<UInt8>
    let isSelfIssued: Bool
    let certificate: Certificate
    let validity: ClosedRange<Timestamp>

    /// Returns nil if the bytes are not a certificate, or if receiptd does not support the key's kind or size.
    package init?(_ bytes: [UInt8]) {
        guard let outline = try? CertificateOutline(bytes), outline.doubt == nil,
            let certificate = try? Certificate(derEncoded: bytes), let validity = certificate.validity
        else { return nil }
        self.bytes = bytes
        subject = outline.subject
        isSelfIssued = outline.isSelfIssued
        self.certificate = certificate
        self.validity = validity
    }
}
