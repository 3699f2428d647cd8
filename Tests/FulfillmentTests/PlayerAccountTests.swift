import Fulfillment
import Identifiers
import Testing

@Suite("Records of players' accounts")
struct PlayerAccountTests {
    private static let token = "1a2b3c4d-0000-4000-8000-00000000abcd"
    private static let key = "com.example.game/\(token)"

    private func decode(
        _ key: String?, _ value: String?, keys: [String] = [], headers: [[UInt8]] = []
    ) -> PlayerAccountDecoder.Decoded {
        PlayerAccountDecoder(signature: SubmissionSignature(keys: keys)).decode(
            key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) }, signatureHeaders: headers)
    }

    private func reason(_ key: String?, _ value: String?) -> DeadLetter.Reason? {
        if case .deadLetter(let letter) = decode(key, value) { letter.reason } else { nil }
    }

    @Test("one says whose a token is, or forgets it")
    func sound() {
        let token = AccountTokenKey(bundleID: "com.example.game", token: Self.token)
        #expect(decode(Self.key, #"{"player_id":"p","more":1}"#) == .account(PlayerAccount(token: token, player: "p")))
        #expect(decode(Self.key, nil) == .account(PlayerAccount(token: token, player: nil)))
        // What is in front of the last slash is the app's.
        let odd = AccountTokenKey(bundleID: "a/b", token: Self.token)
        #expect(decode("a/b/\(Self.token)", nil) == .account(PlayerAccount(token: odd, player: nil)))
    }

    @Test(
        "a key that is no app and token in lower case is a dead letter, the nil UUID's too",
        arguments: [
            nil, "", "com.example.game", "/\(token)", "com.example.game/\(token.uppercased())", "com.example.game/",
            "com.example.game/00000000-0000-0000-0000-000000000000", "com.example.game/player-1", "a\u{0}/\(token)",
        ])
    func badKey(key: String?) {
        #expect(reason(key, #"{"player_id":"p"}"#) == .malformedMessage)
        #expect(reason(key, nil) == .malformedMessage)
    }

    @Test(
        "a value that names no player is a dead letter",
        arguments: [
            "", "null", "[]", "{}", #"{"player_id":null}"#, #"{"player_id":""}"#, #"{"player_id":7}"#,
            #"{"player_id":"a\u0000"}"#, #"{"player_id":"a","player_id":"b"}"#,
            #"{"player_id":"\#(String(repeating: "a", count: 129))"}"#,
        ])
    func badValue(value: String) {
        #expect(reason(Self.key, value) == .malformedMessage)
    }

    @Test("where there are keys a value is signed, and a null needs no signature")
    func signed() throws {
        let value = #"{"player_id":"p"}"#
        let header = try #require(SubmissionSignature(keys: ["secret"]).header(for: Array(value.utf8)))
        guard case .account = decode(Self.key, value, keys: ["secret"], headers: [header]) else {
            Issue.record("a signed one is refused")
            return
        }
        for headers in [[], [Array("v1=00".utf8)]] {
            guard case .deadLetter(let letter) = decode(Self.key, value, keys: ["secret"], headers: headers) else {
                Issue.record("an unsigned one is taken")
                return
            }
            #expect(letter.reason == .badSignature)
        }
        guard case .account = decode(Self.key, nil, keys: ["secret"]) else {
            Issue.record("a null is refused")
            return
        }
    }

    @Test("one that is too large is a dead letter")
    func large() {
        let value = #"{"player_id":"p","x":"\#(String(repeating: "a", count: PlayerAccountDecoder.maximumBytes))"}"#
        #expect(reason(Self.key, value) == .tooLarge)
    }
}
