import Encodings

/// A member of a submission's object whose unknown name is close to a known name.
public struct MisspeltMember: Sendable, Equatable {
    /// The name as it was sent. The name has only letters, digits, blanks, points, dashes and underscores.
    public let name: String
    /// The known name to which the sent name is close.
    public let known: String

    /// The most bytes of an unknown name. receiptd does not compare a longer name with the known names.
    private static let maximumLength = 40

    /// Returns the misspelt members in the order of the object, at most one for each known name; empty if `value` is
    /// not a JSON object.
    /// - Parameter value: a record's value.
    public static func all(in value: [UInt8]) -> [MisspeltMember] {
        guard let document = try? JSONParser.parse(value), case .object(let members) = document.value else { return [] }
        let present = Set(members.map(\.name))
        var found: [MisspeltMember] = []
        for member in members {
            guard SubmissionFields.Name(rawValue: member.name) == nil, let bare = bare(member.name),
                let known = known[bare], !present.contains(known), !found.contains(where: { $0.known == known })
            else { continue }
            found.append(MisspeltMember(name: member.name, known: known))
        }
        return found
    }

    /// The known names. The keys are the names without underscores, so that `playerId`, `player-id` and `PlayerID`
    /// match `player_id`.
    private static let known: [String: String] = Dictionary(
        SubmissionFields.Name.allCases.map { ($0.rawValue.filter { $0 != "_" }, $0.rawValue) },
        uniquingKeysWith: { first, _ in first })

    /// Returns the name in lower case, without underscores, dashes, points and blanks; nil if the name is too long or
    /// has other characters.
    private static func bare(_ name: String) -> String? {
        guard name.utf8.count <= maximumLength else { return nil }
        var bare: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x61...0x7A: bare.append(byte)
            case 0x41...0x5A: bare.append(byte | 0x20)
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: " "): continue
            default: return nil
            }
        }
        return String(decoding: bare, as: UTF8.self)
    }
}
