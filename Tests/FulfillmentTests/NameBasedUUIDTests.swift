import Crypto
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Name-based UUIDs")
struct NameBasedUUIDTests {
    /// Returns the UUID by a second implementation of RFC 9562, section 5.5: SHA-1 over the namespace and the names,
    /// cut to 16 bytes and marked with version and variant.
    private static func expected(_ parts: [String]) -> String {
        var input: [UInt8] = []
        for pair in ["8f", "1c", "5b", "1e", "5a", "0c", "4c", "55", "9d", "5f", "7d", "2b", "6a", "0f", "3e", "11"] {
            input.append(UInt8(pair, radix: 16) ?? 0)
        }
        for part in parts {
            withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { input.append(contentsOf: $0) }
            input.append(contentsOf: part.utf8)
        }
        var digest = Array(Array(Insecure.SHA1.hash(data: input)).prefix(16))
        digest[6] = digest[6] & 0x0F | 0x50
        digest[8] = digest[8] & 0x3F | 0x80
        let hex = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [hex[0..<4], hex[4..<6], hex[6..<8], hex[8..<10], hex[10..<16]].map { $0.joined() }.joined(
            separator: "-")
    }

    @Test(
        "a name-based UUID is the hash of the namespace and of the parts, each part with its length",
        arguments: [
            [], [""], ["a"], ["a", "b"], ["transaction event", "receipt.granted", "1000", "1"], ["漢", "é", "😀"],
            [String(repeating: "x", count: 70_000)],
        ])
    func hash(parts: [String]) {
        #expect(NameBasedUUID(parts.map { Array($0.utf8) }).description == Self.expected(parts))
    }

    @Test("the event id of a first grant is the UUID of its kind, transaction id and revision 1")
    func knownID() {
        let id = OutcomeEvent.eventID(.granted, transaction: "1000", revision: 1)
        #expect(id.description == Self.expected(["transaction event", "receipt.granted", "1000", "1"]))
        #expect(id == NameBasedUUID("transaction event", "receipt.granted", "1000", "1"))
    }

    @Test("a name-based UUID is lower-case text of 36 characters with version 5 and the RFC's variant")
    func marks() {
        for number in 0..<500 {
            let text = NameBasedUUID("part", String(number)).description
            let characters = Array(text)
            #expect(characters.count == 36)
            #expect(characters[14] == "5")
            #expect("89ab".contains(characters[19]))
            #expect([8, 13, 18, 23].allSatisfy { characters[$0] == "-" })
            #expect(text == text.lowercased())
        }
    }

    @Test("if two lists of parts differ only in where the text is cut, their name-based UUIDs differ")
    func noConcatenation() {
        let lists: [[String]] = [
            [], [""], ["", ""], ["ab"], ["a", "b"], ["ab", ""], ["", "ab"], ["a", "", "b"], ["abc"], ["ab", "c"],
            ["a", "bc"], ["a", "b", "c"], ["a\0\0\0\u{1}b"], ["a", "\0\0\0\u{1}b"],
        ]
        #expect(Set(lists.map { NameBasedUUID($0.map { Array($0.utf8) }) }).count == lists.count)
    }

    @Test("the UUID parser reads a UUID's text in upper or lower case, and refuses other text")
    func text() {
        for number in 0..<200 {
            let id = NameBasedUUID("part", String(number))
            #expect(NameBasedUUID(text: id.description) == id)
            #expect(NameBasedUUID(text: id.description.uppercased()) == id)
        }
        let text = NameBasedUUID("part").description
        let wrongs: [String] = [
            "", "x", String(text.dropLast()), "\(text)0", text.replacing("-", with: ""), "{\(text)}",
            "g\(text.dropFirst())", "\(text.dropLast())é", "\(text.dropLast(2))é", String(repeating: "-", count: 36),
            String(repeating: "0", count: 36),
        ]
        for wrong in wrongs {
            #expect(NameBasedUUID(text: wrong) == nil, "\(wrong)")
        }
    }

    @Test("UUIDs sort in the order of their text")
    func order() {
        let ids = (0..<200).map { NameBasedUUID("part", String($0)) }
        #expect(ids.sorted().map(\.description) == ids.map(\.description).sorted())
    }

    @Test("a submission's identity depends only on the bundle id, player, submission id and proof")
    func submissionIdentity() {
        let proof = Digest256(hashing: [1])
        let plain = Sample.submission("s", player: "p")
        let others = [
            Sample.submission("s", player: "q").identity(proof: proof),
            Sample.submission("t", player: "p").identity(proof: proof),
            plain.identity(proof: Digest256(hashing: [2])),
            Submission(submissionID: "s", playerID: "p", bundleID: "other", proof: plain.proof).identity(proof: proof),
        ]
        #expect(!others.contains(plain.identity(proof: proof)))
        #expect(Set(others).count == others.count)
        // Fields that the client chooses do not change the identity.
        let chatty = Sample.submission("s", player: "p", productID: "x", orderID: "y", currency: "CNY")
        #expect(chatty.identity(proof: proof) == plain.identity(proof: proof))
    }
}
