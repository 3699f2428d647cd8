import CRDKafka

/// Puts OpenSSL's reason to refuse a broker's certificate into words. librdkafka's own text says only that it could not
/// verify the certificate.
enum CertificateVerdict {
    /// Adds OpenSSL's reason to librdkafka's error. The verdict stays the same. If verification is off, librdkafka does
    /// not call the callback.
    static func report(in configuration: OpaquePointer) {
        // This call fails only in a librdkafka that was built without TLS.
        rd_kafka_conf_set_ssl_cert_verify_cb(configuration) { _, _, _, verdict, _, _, _, text, size, _ in
            guard let verdict, verdict.pointee != 0 else { return 1 }
            if let text, size > 0 {
                let words = CertificateVerdict.words(verdict.pointee).utf8.prefix(size - 1)
                for (index, byte) in words.enumerated() { text[index] = CChar(bitPattern: byte) }
                text[words.count] = 0
            }
            return 0
        }
    }

    /// Source: the X509_V_ERR codes of <openssl/x509_vfy.h>.
    static func words(_ code: Int32) -> String {
        switch code {
        case 9: "it is not valid yet"
        case 10: "it has expired"
        case 18: "it is self-signed and not trusted"
        case 19: "a root certificate of its chain is not trusted"
        case 2, 20, 21: "its issuer is not among the trusted certificates"
        case 7: "its signature is wrong"
        case 23: "it was revoked"
        case 62: "it is for another host name"
        case 64: "it is for another IP address"
        default: "OpenSSL's verification error \(code)"
        }
    }
}
