import Encodings
import NamesAndTimes

/// The name that replaces an erased player's id. A pseudonym is longer than a player's id may be. So no game server can
/// submit a pseudonym, and receiptd needs no list of pseudonyms.
public enum Pseudonym {
    private static let prefix = "erased-"
    private static let digits = SubmissionLimits.maximumNameScalars + 1 - prefix.unicodeScalars.count

    public static func make(using random: inout some RandomNumberGenerator) -> PlayerID {
        var text = prefix
        for _ in 0..<digits { text.append(String(UInt8.random(in: 0..<16, using: &random), radix: 16)) }
        return PlayerID(text)
    }
}

extension PlayerID {
    /// True if the id stands for an erased player. No event that receiptd publishes has such an id.
    public var isPseudonym: Bool {
        text.hasPrefix("erased-") && text.unicodeScalars.count > SubmissionLimits.maximumNameScalars
    }
}

extension OutcomeEvent {
    /// Returns the stored event with the pseudonym in place of the player's id and of the submission's id. The returned
    /// event lacks the game's order id and the risk signals.
    public static func erased(_ value: [UInt8], pseudonym: PlayerID) -> [UInt8] {
        guard case .object(let members)? = try? JSONParser.parse(value).value else { return Array("{}".utf8) }
        var json = JSONWriter(capacity: value.count + 2 * pseudonym.text.utf8.count)
        json.beginObject()
        for member in members where !erasedNames.contains(member.name) {
            json.name(member.name)
            json.value(renamedNames.contains(member.name) ? .string(pseudonym.text) : member.value)
        }
        json.endObject()
        return json.bytes
    }

    private static let renamedNames: Set<String> = ["player_id", "submission_id"]
    private static let erasedNames: Set<String> = ["order_id", "risk"]
}
