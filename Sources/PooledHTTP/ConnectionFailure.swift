import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The reason why a connection failed. `description` is for operators, and contains nothing of the request.
public enum ConnectionFailure: Sendable, Equatable, CustomStringConvertible {
    case lost
    case refused
    case nameNotFound
    case network(String)
    case tls(String)

    init(_ error: any Error) {
        switch error {
        case let error as NIOConnectionError: self.init(error)
        case let error as IOError: self.init(error)
        case let error as NIOSSLError: self = .tls(Self.words(of: "\(error)"))
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self = .tls("the certificate is not for this host")
        case is BoringSSLError: self = .tls(Self.words(of: "\(error)"))
        default: self = .lost
        }
    }

    private init(_ error: NIOConnectionError) {
        // Several addresses may have failed for different reasons. The first reason is enough for an operator.
        if let first = error.connectionErrors.first {
            self.init(first.error)
        } else {
            self = error.dnsAError != nil || error.dnsAAAAError != nil ? .nameNotFound : .lost
        }
    }

    private init(_ error: IOError) {
        switch error.errnoCode {
        case ECONNREFUSED: self = .refused
        case ENETUNREACH: self = .network("network unreachable")
        case EHOSTUNREACH: self = .network("no route to host")
        default: self = .lost
        }
    }

    public var description: String {
        switch self {
        case .lost: "connection lost"
        case .refused: "connection refused"
        case .nameNotFound: "DNS name not found"
        case .network(let text): text
        case .tls(let text): "TLS: \(text)"
        }
    }

    /// Returns `certificate verify failed` for OpenSSL's `…:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …`.
    static func words(of text: String) -> String {
        let mark = "OPENSSL_internal:"
        guard let start = text.firstRange(of: mark)?.upperBound else { return "handshake failed" }
        let name = text[start...].prefix { $0.isUppercase || $0.isNumber || $0 == "_" }
        return name.isEmpty ? "handshake failed" : name.lowercased().replacing("_", with: " ")
    }
}
