import Crypto
import Encodings
import Fulfillment
import NamesAndTimes
import Synchronization

/// Makes the tokens for the App Store Server API. They are JWTs with ES256, one for each app, and are renewed before
/// they expire.
///
/// https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
final class ServerAPITokens: Sendable {
    /// The seconds from `iat` to `exp`. Apple accepts at most an hour.
    static let lifetimeSeconds: Int64 = 1800
    /// receiptd sends a token only if it stays valid for at least these seconds, because Apple's clock may be ahead.
    static let leastLeftSeconds: Int64 = 600
    /// The seconds by which `iat` is before the present time. Without them, Apple would see an `iat` in the future if
    /// this machine's clock is ahead of Apple's.
    static let backdatedSeconds: Int64 = 30
    private static let audience = "appstoreconnect-v1"

    private struct Token {
        let credentials: ServerAPICredentials
        /// The key that signed the token. If the key changes, a new token is made.
        let privateKey: String
        let text: String
        /// The expiry of the token, in seconds since 1970.
        let expiresAt: Int64
    }

    private let tokens = Mutex<[BundleID: Token]>([:])

    /// Returns a token; nil if the key is not a private key.
    /// - Parameters:
    ///   - privateKey: the key in PEM, the form of Apple's `.p8` files. `\n` may stand for a line break.
    ///   - now: the time of the wall clock.
    func token(
        for bundleID: BundleID, _ credentials: ServerAPICredentials, privateKey: String, now: Timestamp
    ) -> String? {
        let seconds = now.milliseconds / 1000
        let known = tokens.withLock { $0[bundleID] }
        if let known, known.credentials == credentials, known.privateKey == privateKey,
            known.expiresAt - seconds >= Self.leastLeftSeconds,
            // If the clock was set back, the known token's `iat` is in the future.
            known.expiresAt - seconds <= Self.lifetimeSeconds
        {
            return known.text
        }
        guard let text = Self.sign(bundleID, credentials, privateKey: privateKey, now: seconds) else { return nil }
        let token = Token(
            credentials: credentials, privateKey: privateKey, text: text,
            expiresAt: seconds - Self.backdatedSeconds + Self.lifetimeSeconds)
        tokens.withLock { $0[bundleID] = token }
        return text
    }

    /// Drops a token that Apple refused, so that the next call makes a new token.
    func forget(_ bundleID: BundleID) {
        tokens.withLock { $0[bundleID] = nil }
    }

    private static func sign(
        _ bundleID: BundleID, _ credentials: ServerAPICredentials, privateKey: String, now: Int64
    ) -> String? {
        let pem = privateKey.split(separator: "\\n", omittingEmptySubsequences: false).joined(separator: "\n")
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { return nil }
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", "ES256")
        header.member("kid", credentials.keyID)
        header.member("typ", "JWT")
        header.endObject()
        let issuedAt = now - backdatedSeconds
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", credentials.issuerID)
        claims.name("iat")
        claims.number(issuedAt)
        claims.name("exp")
        claims.number(issuedAt + lifetimeSeconds)
        claims.member("aud", audience)
        claims.member("bid", bundleID.text)
        claims.endObject()
        let signed = "\(Base64.encodeURL(header.bytes)).\(Base64.encodeURL(claims.bytes))"
        guard let signature = try? key.signature(for: Array(signed.utf8)) else { return nil }
        return "\(signed).\(Base64.encodeURL(Array(signature.rawRepresentation)))"
    }
}
