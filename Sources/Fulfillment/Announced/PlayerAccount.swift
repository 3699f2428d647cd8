import Encodings
import NamesAndTimes

/// A record of the player-accounts topic, which names the player of an account token.
public struct PlayerAccount: Sendable, Equatable {
    public let token: AccountTokenKey
    /// The token's player; nil if receiptd must forget the token.
    public let player: PlayerID?

    public init(token: AccountTokenKey, player: PlayerID?) {
        self.token = token
        self.player = player
    }
}

/// Decodes a record's key and value into a player's account token, or into a dead letter.
public struct PlayerAccountDecoder: Sendable {
    public enum Decoded: Sendable, Equatable {
        case account(PlayerAccount)
        case deadLetter(DeadLetter)
    }

    /// The maximum size of a value in bytes.
    public static let maximumBytes = 16_384
    private static let playerID = "player_id"

    private let signature: RecordSignature

    /// - Parameter signingKeys: the secrets. The signature of a record must be made with one of them. If there are
    ///   none, the decoder checks no signatures.
    public init(signingKeys: [String] = []) {
        signature = RecordSignature(keys: signingKeys, of: .accounts)
    }

    /// - Parameters:
    ///   - key: `<bundle_id>/<token>`, with the token in lower case. Kafka compacts the topic by this key.
    ///   - value: an object with `player_id`; nil to forget the token. A nil value needs no signature, because the
    ///     broker's rights decide who may send it.
    public func decode(key: [UInt8]?, value: [UInt8]?, signatureHeaders: [[UInt8]]) -> Decoded {
        switch read(key, value, signatureHeaders) {
        case .account(let account): .account(account)
        case .deadLetter(let letter): .deadLetter(letter.naming(formOf: value, in: .account))
        }
    }

    private func read(_ key: [UInt8]?, _ value: [UInt8]?, _ signatureHeaders: [[UInt8]]) -> Decoded {
        func unreadable(_ detail: String) -> Decoded {
            .deadLetter(DeadLetter(reason: .malformedMessage, detail: detail))
        }
        if let value, let refusal = signature.refusal(ofKey: key, value: value, headers: signatureHeaders) {
            return .deadLetter(refusal)
        }
        guard let token = key.flatMap(Self.token) else {
            return unreadable("the key must be a bundle id, a slash and an account token in lower case")
        }
        guard let value else { return .account(PlayerAccount(token: token, player: nil)) }
        guard value.count <= Self.maximumBytes else {
            return .deadLetter(
                DeadLetter(reason: .tooLarge, detail: "the value holds more than \(Self.maximumBytes) bytes"))
        }
        guard let document = try? JSONParser.parse(value), case .object(let members) = document.value else {
            return unreadable("not a JSON object")
        }
        // A record with a member other than `player_id` may be meant for another topic, even if its signature is right.
        guard members.allSatisfy({ $0.name == Self.playerID }) else {
            return unreadable("a member other than player_id does not belong in this topic")
        }
        guard members.count == 1, let player = document.value[Self.playerID]?.string, Self.isSound(player)
        else {
            return unreadable(
                "player_id must be one string of 1 to \(SubmissionLimits.maximumNameScalars) characters, without NUL")
        }
        return .account(PlayerAccount(token: token, player: PlayerID(player)))
    }

    /// Returns the token that the record's key names. Returns nil if the key has another form, or if the token is the
    /// nil UUID.
    private static func token(_ key: [UInt8]) -> AccountTokenKey? {
        guard let text = String(validating: key, as: UTF8.self), let slash = text.lastIndex(of: "/") else { return nil }
        let bundle = text[..<slash]
        let token = String(text[text.index(after: slash)...])
        guard !bundle.isEmpty, bundle.unicodeScalars.count <= SubmissionLimits.maximumBundleIDScalars,
            !bundle.utf8.contains(0), AccountToken(told: token).text == token
        else { return nil }
        return AccountTokenKey(bundleID: BundleID(String(bundle)), token: token)
    }

    private static func isSound(_ name: String) -> Bool {
        !name.isEmpty && name.unicodeScalars.count <= SubmissionLimits.maximumNameScalars && !name.utf8.contains(0)
    }
}

/// The store of the players that the game names for account tokens.
public protocol PlayerAccounts: Sendable {
    /// Stores the newest record of each token. In the same SQL transaction, the announced purchases that workers can
    /// now deliver become due. If a record is older than the stored record of its token, nothing changes. Throws if the
    /// database is out of reach. The caller may repeat the call with any of the records.
    func apply(_ accounts: [ReceivedAccount]) async throws -> Durable<[EnteredRecord]>
}

public struct ReceivedAccount: Sendable, Equatable {
    public let account: PlayerAccount
    public let partition: Int32
    public let offset: Int64
    public let timestamp: Timestamp

    public init(_ account: PlayerAccount, partition: Int32, offset: Int64, timestamp: Timestamp) {
        self.account = account
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
    }
}
