import Crypto
import CryptoExtras
import Fulfillment
import NamesAndTimes

/// The signature of an iOS 6 receipt: one octet for the version, the RSA signature, four octets for the length of the
/// signer's certificate, and the certificate. The RSA signature covers the version octet and then `purchase-info`, with
/// SHA-1.
///
/// Version 2 has a 1024-bit key, which is too weak to prove a receipt. Version 3 has 2048 bits. The receipt lacks the
/// issuer's certificate. So receiptd uses a built-in issuer, or an issuer that the operator names with the roots.
struct TransactionSignature {
    private static let version: UInt8 = 3
    private static let signatureSize = 256

    private let signature: ArraySlice<UInt8>
    private let certificate: CertificateOutline

    /// Returns nil if the bytes have another layout or version.
    init?(_ blob: [UInt8]) {
        let lengthStart = 1 + Self.signatureSize
        let certificateStart = lengthStart + 4
        guard blob.count > certificateStart, blob[0] == Self.version else { return nil }
        let length = blob[lengthStart..<certificateStart].reduce(0) { $0 << 8 | Int($1) }
        guard length == blob.count - certificateStart,
            let certificate = try? CertificateOutline(Array(blob[certificateStart...]))
        else { return nil }
        signature = blob[1..<lengthStart]
        self.certificate = certificate
    }

    /// Returns whether the signature is proven. If not, receiptd asks Apple, because the signature may be of an unknown
    /// kind.
    func isProven(over purchaseInfo: [UInt8], at time: Timestamp, chains: ChainVerifier) -> Bool {
        guard let chain = try? chains.verify(certificate), chain.validity.contains(time),
            chain.missingMarker == nil, chain.doubt == nil, case .rsa(let key) = chain.key
        else { return false }
        var hash = Insecure.SHA1()
        hash.update(data: [Self.version])
        hash.update(data: purchaseInfo)
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature), for: hash.finalize(), padding: .insecurePKCS1v1_5)
    }
}
