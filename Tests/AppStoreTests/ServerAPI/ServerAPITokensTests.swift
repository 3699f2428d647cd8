import Crypto
import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppStore

@Suite("Tokens for the App Store Server API")
struct ServerAPITokensTests {
    private struct Token {
        let header: JSONValue
        let claims: JSONValue
        let signed: String
        let signature: [UInt8]

        init(_ text: String) throws {
            let segments = text.split(separator: ".")
            try #require(segments.count == 3)
            #expect(!text.contains("=") && !text.contains("+") && !text.contains("/"))
            header = try JSONParser.parse(try #require(Base64.decode(segments[0].utf8))).value
            claims = try JSONParser.parse(try #require(Base64.decode(segments[1].utf8))).value
            signature = try #require(Base64.decode(segments[2].utf8))
            signed = "\(segments[0]).\(segments[1])"
        }
    }

    private let key = P256.Signing.PrivateKey()
    private let now = Timestamp(milliseconds: 1_795_167_000_500)
    private let credentials = SimulatedServerAPI.credentials

    private func token(_ tokens: ServerAPITokens, after seconds: Int64 = 0, pem: String? = nil) -> String? {
        tokens.token(
            for: "com.example.game", credentials, privateKey: pem ?? key.pemRepresentation,
            now: now.adding(milliseconds: seconds * 1000))
    }

    @Test(
        "an API token has Apple's required header and claims, lasts an hour at most, and is signed with the app's key"
    )
    func content() throws {
        let read = try Token(try #require(token(ServerAPITokens())))
        #expect(read.header["alg"]?.string == "ES256" && read.header["typ"]?.string == "JWT")
        #expect(read.header["kid"]?.string == credentials.keyID)
        #expect(read.claims["iss"]?.string == credentials.issuerID)
        #expect(read.claims["aud"]?.string == "appstoreconnect-v1")
        #expect(read.claims["bid"]?.string == "com.example.game")
        let issued = try #require(read.claims["iat"]?.wholeNumber)
        let ends = try #require(read.claims["exp"]?.wholeNumber)
        #expect(issued <= 1_795_167_000 && issued >= 1_795_166_900)
        #expect(ends - issued <= 3600 && ends > 1_795_167_000)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: read.signature)
        #expect(key.publicKey.isValidSignature(signature, for: Data(read.signed.utf8)))
    }

    @Test("the client reuses an API token until shortly before the token's end, and then makes a new token")
    func renewal() throws {
        let tokens = ServerAPITokens()
        let first = try #require(token(tokens))
        #expect(token(tokens, after: 60) == first)
        let life = ServerAPITokens.lifetimeSeconds - ServerAPITokens.backdatedSeconds
        let left = ServerAPITokens.leastLeftSeconds
        #expect(token(tokens, after: life - left) == first)
        let second = try #require(token(tokens, after: life - left + 1))
        #expect(second != first)
        #expect(try #require(Token(second).claims["exp"]?.wholeNumber) > 1_795_167_000 + life)
        // After an operator sets the clock back, the client does not use a token from the future.
        #expect(token(tokens, after: -100) != second)
    }

    @Test("a new API key leads to a new token, and the client does not reuse a token that Apple refused")
    func replaced() throws {
        let tokens = ServerAPITokens()
        let first = try #require(token(tokens))
        let other = P256.Signing.PrivateKey().pemRepresentation
        let second = try #require(token(tokens, pem: other))
        #expect(second != first && token(tokens, pem: other) == second)
        tokens.forget("com.example.game")
        #expect(token(tokens, pem: other) != second)
    }

    @Test("the client reads an API key with real or escaped line breaks, and makes no token from a malformed key")
    func keys() {
        let tokens = ServerAPITokens()
        #expect(token(tokens, pem: key.pemRepresentation.replacing("\n", with: "\\n")) != nil)
        #expect(token(tokens, pem: key.pemRepresentation + "\n") != nil)
        for text in ["", "secret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            #expect(token(tokens, pem: text) == nil)
        }
    }
}
