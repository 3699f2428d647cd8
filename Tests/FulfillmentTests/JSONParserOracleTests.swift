import Encodings
import Foundation
import TestSupport
import Testing

@testable import Encodings
@testable import Fulfillment

@Suite("The JSON parser, compared with Foundation")
struct JSONParserOracleTests {
    static let edgeCases: [String] = [
        "{}", "[]", "null", "true", "false", "0", "-0", "1", "-1", "1.5", "1e3", "1E+3", "1e-3", "\"\"", " {} ",
        "\t\n\r[]\t\n\r", "[1]", "[1,2]", "[[],{}]", "{\"a\":1}", "{\"a\":{\"b\":[null]}}", "\"\\u0041\"",
        "\"\\ud83d\\ude00\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"é\"", "\"😀\"", "\"\u{7F}\"", "\"\\u00e9\"",
        "\"\\u00E9\"",
        "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
        "{,}", "{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{1:2}", "{\"a\":1]", "[1}", "{}{}", "[] []",
        "1 2", "nul", "nulls", "tru", "True", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "00", "1.", ".5",
        "-.5", "1.e3", "1e", "1e+", "1e1.5", "0x10", "1_000", "\"", "\"abc", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u\"",
        "\"\\u12\"", "\"\\u12G4\"", "\"\\U0041\"", "\"\n\"", "\"\t\"", "\"\u{1}\"", "\"\u{1F}\"", "'a'",
        "// comment\n{}",
        "{} // comment", "/* */1", "\u{A0}{}", "{}\u{A0}", "{\"a\":undefined}", "[\"a\",\"b\"", "\u{0B}1", "\u{0C}1",
        "{\"\":\"\"}", "[\"\\u0000\"]", "[0.1e-7,123456789012345678]", "[-0.0]", "[\"\\uDBFF\\uDFFF\"]", "fals e",
    ]

    @Test(
        "the JSON parser accepts or refuses each edge case as Foundation does, and reads the same value",
        arguments: edgeCases)
    func edgeCase(text: String) {
        expectAgreement(Array(text.utf8), "\(text.debugDescription)")
    }

    @Test("the JSON parser reads a random document to the same value as Foundation", arguments: 0..<20 as Range<UInt64>)
    func randomDocuments(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<150 {
            let bytes = Self.document(&random)
            #expect((try? JSONParser.parse(bytes)) != nil, "seed \(seed), round \(round): a valid document is refused")
            expectAgreement(bytes, "seed \(seed), round \(round)")
        }
    }

    @Test(
        "the JSON parser accepts or refuses a mutated document as Foundation does",
        arguments: 100..<120 as Range<UInt64>)
    func mutations(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<250 {
            var bytes = Self.document(&random)
            for _ in 0...random.below(3) { Self.mutate(&bytes, &random) }
            expectAgreement(bytes, "seed \(seed), round \(round): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test(
        "if the caller asks for only some member names, the JSON parser returns the value without the other members",
        arguments: 200..<220 as Range<UInt64>)
    func keptMembers(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<150 {
            var bytes = Self.document(&random)
            let all = (try? JSONParser.parse(bytes)).map { Self.names(in: $0.value) } ?? []
            let kept = Set(all.sorted().filter { _ in random.chance(50) })
            if random.chance(50) { Self.mutate(&bytes, &random) }
            let whole = try? JSONParser.parse(bytes)
            let part = try? JSONParser.parse(bytes, keeping: JSONNames(kept.sorted()))
            let note: Comment = "seed \(seed), round \(round): \(String(decoding: bytes, as: UTF8.self))"
            #expect(part?.value == whole.map { Self.pruned($0.value, kept) }, note)
            #expect(part?.exceededDepth == whole?.exceededDepth, note)
        }
    }

    private static func document(_ random: inout SeededRandom) -> [UInt8] {
        var writer = RandomJSON(random: random)
        defer { random = writer.random }
        return writer.document()
    }

    private static func names(in value: JSONValue) -> Set<String> {
        switch value {
        case .array(let elements): elements.reduce(into: []) { $0.formUnion(names(in: $1)) }
        case .object(let members): members.reduce(into: []) { $0.formUnion(names(in: $1.value).union([$1.name])) }
        default: []
        }
    }

    private static func pruned(_ value: JSONValue, _ kept: Set<String>) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map { pruned($0, kept) })
        case .object(let members):
            .object(
                members.filter { kept.contains($0.name) }
                    .map { JSONMember(name: $0.name, value: pruned($0.value, kept)) })
        default: value
        }
    }

    /// Changes bytes at random. Adds no NUL, because Foundation reads a document with a NUL as UTF-16 or UTF-32.
    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let index = random.below(bytes.count)
        switch random.below(6) {
        case 0: bytes.remove(at: index)
        case 1: bytes.insert(random.pick(Array("{}[],:\"\\0123456789eE+-.tfnu/ \n".utf8)), at: index)
        case 2: bytes[index] = random.pick(Array("{}[],:\"\\0123456789eE+-.tfnu/ \n".utf8))
        case 3: bytes[index] = UInt8(1 + random.below(255))
        case 4: bytes.removeSubrange(index...)
        default:
            let other = random.below(bytes.count)
            bytes.swapAt(index, other)
        }
    }

    private func expectAgreement(_ bytes: [UInt8], _ note: String) {
        let ours = try? JSONParser.parse(bytes)
        let strict = FoundationOracle.withoutTrailingCommas(bytes)
        if strict != bytes {
            #expect(ours == nil, "a comma before a closing bracket is taken: \(note)")
            return expectAgreement(strict, note)
        }
        let theirs = FoundationOracle.read(bytes)
        if let ours, let theirs {
            #expect(FoundationOracle.agrees(ours.value, theirs), "read differently: \(note)")
        } else if ours != nil, theirs == nil {
            // Foundation refuses a number beyond a Double's range. Our parser keeps the number's text.
            #expect(Self.holdsHugeNumber(ours?.value), "taken, but Foundation refuses: \(note)")
        } else if theirs != nil {
            Issue.record("refused, but Foundation takes: \(note)")
        }
    }

    private static func holdsHugeNumber(_ value: JSONValue?) -> Bool {
        switch value {
        case .number(let text): Double(text).map { !$0.isFinite || $0 == 0 } ?? true
        case .array(let elements): elements.contains { holdsHugeNumber($0) }
        case .object(let members): members.contains { holdsHugeNumber($0.value) }
        default: false
        }
    }
}
