import Crypto
import Encodings
import Foundation

/// The key with which an app signs its tokens for the App Store Server API.
public struct SimulatedServerAPIKey: Sendable {
    let publicKey: P256.Signing.PublicKey
    let keyID: String?
    let issuerID: String?

    /// Throws if the text is no P-256 key.
    /// - Parameters:
    ///   - pem: the client's private key, or its public key.
    ///   - keyID: the key id that a token must have; nil accepts any.
    ///   - issuerID: the issuer id that a token must have; nil accepts any.
    public init(pem: String, keyID: String? = nil, issuerID: String? = nil) throws {
        publicKey =
            try (try? P256.Signing.PrivateKey(pemRepresentation: pem))?.publicKey
            ?? P256.Signing.PublicKey(pemRepresentation: pem)
        self.keyID = keyID
        self.issuerID = issuerID
    }
}

/// The token of a request to the App Store Server API: a JWT. The simulation always checks the claims. It checks the
/// signature if it knows the key of any app.
struct SimulatedToken {
    /// The longest lifetime of a token, in seconds.
    static let longestLife: Int64 = 3600
    /// The allowed difference between the client's clock and the simulation's, in seconds.
    static let tolerance: Int64 = 60

    let bundleID: String

    private struct Header: Decodable {
        let alg: String
        let kid: String
    }

    private struct Claims: Decodable {
        let iss: String
        let iat: Int64
        let exp: Int64
        let aud: String
        let bid: String
    }

    /// Returns nil if Apple would answer 401.
    /// - Parameters:
    ///   - keys: the keys by bundle id. Without any key the simulation does not check the signature.
    ///   - now: milliseconds since 1970.
    init?(authorization: String?, keys: [String: SimulatedServerAPIKey], now: Int64) {
        guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
        let token = String(authorization.dropFirst("Bearer ".count))
        let segments = token.split(separator: ".", omittingEmptySubsequences: false)
        let seconds = now / 1000
        guard segments.count == 3, let header = Self.decode(Header.self, segment: 0, of: token),
            let claims = Self.decode(Claims.self, segment: 1, of: token), header.alg == "ES256",
            claims.aud == "appstoreconnect-v1", !claims.iss.isEmpty, !header.kid.isEmpty,
            claims.iat <= seconds + Self.tolerance, claims.exp > seconds, claims.exp - claims.iat <= Self.longestLife
        else { return nil }
        bundleID = claims.bid
        if keys.isEmpty { return }
        guard let key = keys[bundleID], key.keyID ?? header.kid == header.kid, key.issuerID ?? claims.iss == claims.iss,
            let bytes = Self.bytes(segments[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.publicKey.isValidSignature(signature, for: Data("\(segments[0]).\(segments[1])".utf8))
        else { return nil }
    }

    /// Returns one segment of a compact JWS, decoded from JSON; nil if that fails.
    static func decode<Value: Decodable>(_ type: Value.Type, segment: Int, of token: String) -> Value? {
        let segments = token.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3, let bytes = bytes(segments[segment]) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }

    private static func bytes(_ segment: Substring) -> [UInt8]? { Base64.decode(segment.utf8) }
}
