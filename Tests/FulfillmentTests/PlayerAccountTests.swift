import Fulfillment
import NamesAndTimes
import Testing

@Suite("Records of players' accounts")
struct PlayerAccountTests {
    private static let token = "1a2b3c4d-0000-4000-8000-00000000abcd"
    private static let key = "com.example.game/\(token)"

    private func decode(
        _ key: String?, _ value: String?, keys: [String] = [], headers: [[UInt8]] = []
    ) -> PlayerAccountDecoder.Decoded {
        PlayerAccountDecoder(signingKeys: keys).decode(
            key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) }, signatureHeaders: headers)
    }

    private func reason(_ key: String?, _ value: String?) -> DeadLetter.Reason? {
        if case .deadLetter(let letter) = decode(key, value) { letter.reason } else { nil }
    }

    @Test("an account record binds a token to a player; a record with a null value removes the player")
    func sound() {
        let token = AccountTokenKey(bundleID: "com.example.game", token: Self.token)
        #expect(decode(Self.key, #"{"player_id":"p"}"#) == .account(PlayerAccount(token: token, player: "p")))
        #expect(decode(Self.key, nil) == .account(PlayerAccount(token: token, player: nil)))
        // The part before the last slash is the app's bundle id.
        let odd = AccountTokenKey(bundleID: "a/b", token: Self.token)
        #expect(decode("a/b/\(Self.token)", nil) == .account(PlayerAccount(token: odd, player: nil)))
    }

    @Test(
        "an account record whose key is not a bundle id and a lower-case, non-nil token is a dead letter",
        arguments: [
            nil, "", "com.example.game", "/\(token)", "com.example.game/\(token.uppercased())", "com.example.game/",
            "com.example.game/00000000-0000-0000-0000-000000000000", "com.example.game/player-1", "a\u{0}/\(token)",
        ])
    func badKey(key: String?) {
        #expect(reason(key, #"{"player_id":"p"}"#) == .malformedMessage)
        #expect(reason(key, nil) == .malformedMessage)
    }

    @Test(
        "an account record whose value is not exactly one valid player_id is a dead letter",
        arguments: [
            "", "null", "[]", "{}", #"{"player_id":null}"#, #"{"player_id":""}"#, #"{"player_id":7}"#,
            #"{"player_id":"a\u0000"}"#, #"{"player_id":"a","player_id":"b"}"#, #"{"player_id":"a","more":1}"#,
            #"{"submission_id":"s","player_id":"a","bundle_id":"com.example.game","transaction_id":"1"}"#,
            #"{"player_id":"\#(String(repeating: "a", count: 129))"}"#,
        ])
    func badValue(value: String) {
        #expect(reason(Self.key, value) == .malformedMessage)
    }

    @Test("if signing keys are set, an account record needs a valid signature, unless the record's value is null")
    func signed() throws {
        let value = #"{"player_id":"p"}"#
        let header = try #require(
            RecordSignature(keys: ["secret"], of: .accounts).header(
                ofKey: Array(Self.key.utf8), value: Array(value.utf8)))
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

    @Test("an account record signed for another key, for another kind, or over its value only, is a dead letter")
    func forged() throws {
        let (value, key) = (Array(#"{"player_id":"mallory"}"#.utf8), Array(Self.key.utf8))
        let own = Array("com.example.game/00000000-0000-4000-8000-000000000001".utf8)
        let headers = try [
            #require(RecordSignature(keys: ["secret"], of: .submissions).header(ofKey: key, value: value)),
            #require(RecordSignature(keys: ["secret"], of: .consumption).header(ofKey: key, value: value)),
            #require(RecordSignature(keys: ["secret"], of: .accounts).header(ofKey: own, value: value)),
            // Key and value together have the same bytes, but the value begins one byte later.
            #require(
                RecordSignature(keys: ["secret"], of: .accounts).header(
                    ofKey: key + value.prefix(1), value: Array(value.dropFirst()))),
        ]
        for header in headers {
            guard
                case .deadLetter(let letter) = decode(
                    Self.key, String(decoding: value, as: UTF8.self), keys: ["secret"], headers: [header])
            else {
                Issue.record("\(String(decoding: header, as: UTF8.self)) is taken")
                continue
            }
            #expect(letter.reason == .badSignature)
        }
    }

    @Test("an account record that is too large is a dead letter")
    func large() {
        let value = #"{"player_id":"\#(String(repeating: "a", count: PlayerAccountDecoder.maximumBytes))"}"#
        #expect(reason(Self.key, value) == .tooLarge)
    }
}
