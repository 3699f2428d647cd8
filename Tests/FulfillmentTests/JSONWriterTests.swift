import Encodings
import TestSupport
import Testing

@testable import Encodings
@testable import Fulfillment

@Suite("The JSON writer")
struct JSONWriterTests {
    private func written(_ text: String) -> [UInt8] {
        var json = JSONWriter()
        json.string(text)
        return json.bytes
    }

    @Test("every character up to U+02FF survives a round trip through the JSON writer and the JSON parser")
    func roundTrip() throws {
        for code in UInt32(0)..<0x300 {
            let scalar = try #require(Unicode.Scalar(code))
            for text in [String(scalar), "a\(scalar)b", "\(scalar)\(scalar)", "é\(scalar)"] {
                let back = try #require(try JSONParser.parse(written(text)).value.string)
                #expect(Array(back.utf8) == Array(text.utf8), "U+\(String(code, radix: 16))")
                #expect((FoundationOracle.read(written(text)) as? String).map { Array($0.utf8) } == Array(text.utf8))
            }
        }
    }

    @Test("the JSON writer escapes every control character")
    func controlCharactersAreEscaped() throws {
        for code in Array(UInt32(0)..<0x20) + Array(UInt32(0x7F)..<0xA0) {
            let scalar = try #require(Unicode.Scalar(code))
            #expect(written("a\(scalar)b").allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "U+\(String(code, radix: 16))")
        }
        #expect(written("\u{1}\u{7F}\u{85}\u{9F}") == Array(#""\u0001\u007f\u0085\u009f""#.utf8))
        #expect(written("\u{A0}") == Array("\"\u{A0}\"".utf8))
        #expect(written("\n\r\t\"\\/") == Array(#""\n\r\t\"\\/""#.utf8))
    }

    @Test("the JSON writer puts commas between members and between elements, and nowhere else")
    func commas() {
        var json = JSONWriter()
        json.beginObject()
        json.member("a", "1")
        json.member("b", ifPresent: nil)
        json.name("c")
        json.beginArray()
        json.number(-2)
        json.bool(true)
        json.null()
        json.beginObject()
        json.endObject()
        json.beginArray()
        json.endArray()
        json.raw(#"{"x":1}"#)
        json.endArray()
        json.name("d\n" as String)
        json.number(Int64.max)
        json.endObject()
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == #"{"a":"1","c":[-2,true,null,{},[],{"x":1}],"d\n":9223372036854775807}"#)
    }

    @Test(
        "a random value survives a round trip through the JSON writer and the JSON parser",
        arguments: 0..<10 as Range<UInt64>)
    func valueRoundTrip(seed: UInt64) throws {
        var document = RandomJSON(random: SeededRandom(seed: seed))
        for round in 0..<100 {
            let value = try JSONParser.parse(document.document()).value
            var json = JSONWriter()
            json.value(value)
            #expect(try JSONParser.parse(json.bytes).value == value, "seed \(seed), round \(round)")
        }
    }
}
