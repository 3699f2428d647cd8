import Encodings
import Testing

@testable import Encodings
@testable import Fulfillment

@Suite("The JSON parser")
struct JSONParserTests {
    private func parse(_ text: String) throws(JSONFault) -> JSONParser.Document {
        try JSONParser.parse(Array(text.utf8))
    }

    @Test(
        "the JSON parser keeps a number as its original text",
        arguments: ["0", "-0", "1.10", "1e400", "-1E-400", "12345678901234567890123", "0.10e+01"])
    func numbersKeepTheirText(text: String) throws {
        #expect(try parse(text).value == .number(text))
        #expect(try parse("[\(text)]").value == .array([.number(text)]))
    }

    static let escapes: [(String, String)] = [
        (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b"#, "\u{8}"), (#"\f"#, "\u{C}"), (#"\n"#, "\n"),
        (#"\r"#, "\r"), (#"\t"#, "\t"), (#"\u0000"#, "\0"), (#"\u001f"#, "\u{1F}"), (#"\u00e9"#, "é"),
        (#"\u20AC"#, "€"), (#"\ud83d\ude00"#, "😀"), (#"\uD83D\uDE00"#, "😀"), (#"\uffff"#, "\u{FFFF}"),
        (#"a\nb\tc"#, "a\nb\tc"), (#"é\u00e9😀"#, "éé😀"), (#"\\u0041"#, "\\u0041"),
    ]

    @Test("the JSON parser reads an escape as the escaped character", arguments: escapes)
    func escape(written: String, meant: String) throws {
        let text = try #require(try parse("\"\(written)\"").value.string)
        #expect(Array(text.utf8) == Array(meant.utf8))
    }

    @Test(
        "the JSON parser refuses half a surrogate pair",
        arguments: [
            #""\ud83d""#, #""\ude00""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\u0041""#, #""\ud83d\ud83d""#,
            #""\ude00\ud83d""#, #""\ud83d\u""#, #""\ud83d\"#, #""\ud83d"#,
        ])
    func loneSurrogate(text: String) {
        #expect(throws: JSONFault.self) { try parse(text) }
    }

    static let illFormed: [[UInt8]] = [
        [0x80], [0xC3], [0xC0, 0xAF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF], [0xF8],
        [0xE2, 0x82], [0xC3, 0x28],
    ]

    @Test("the JSON parser refuses invalid UTF-8 at any place in a member's name", arguments: illFormed)
    func invalidUTF8(sequence: [UInt8]) {
        for prefix in ["", "a", "abcdefg", "abcdefgh", "abcdefghijklmnop"] {
            let bytes = Array("{\"\(prefix)".utf8) + sequence + Array("\":1}".utf8)
            #expect(throws: JSONFault(message: "not valid UTF-8", offset: 0)) { try JSONParser.parse(bytes) }
        }
    }

    @Test("the JSON parser refuses a document that begins with a byte order mark")
    func byteOrderMark() {
        #expect(throws: JSONFault.self) { try JSONParser.parse([0xEF, 0xBB, 0xBF] + Array("{}".utf8)) }
    }

    @Test(
        "the JSON parser refuses text after the value",
        arguments: ["{}x", "{} {}", "[],", "1 1", "\"a\"\"b\"", "null\0", "{}\0"])
    func trailing(text: String) {
        #expect(throws: JSONFault.self) { try parse(text) }
    }

    @Test("the JSON parser refuses every proper prefix of a document, without a crash")
    func prefixes() throws {
        let whole = Array(#"{"a":[1.5e3,-0,{"b":"\ud83d\ude00 é"}],"c":null,"d":true,"e":false}"#.utf8)
        #expect(throws: Never.self) { try JSONParser.parse(whole) }
        for count in 0..<whole.count {
            #expect(throws: JSONFault.self, "\(count) bytes") { try JSONParser.parse(Array(whole[..<count])) }
        }
    }

    @Test("the JSON parser keeps the order of members, and a look-up finds the last of two members with the same name")
    func members() throws {
        let value = try parse(#"{"b":1,"a":2,"b":3}"#).value
        #expect(
            value
                == .object([
                    JSONMember(name: "b", value: .number("1")), JSONMember(name: "a", value: .number("2")),
                    JSONMember(name: "b", value: .number("3")),
                ]))
        #expect(value["b"] == .number("3"))
        #expect(value["c"] == nil)
        #expect(JSONValue.null["a"] == nil)
    }

    @Test("the JSON parser accepts 64 nested arrays, and reports 65 nested arrays as too deep")
    func depthLimit() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try parse(nested(64)).exceededDepth == false)
        #expect(try parse(nested(65)).exceededDepth)
    }

    @Test(
        "the JSON parser skips a value nested 100,000 deep without a stack overflow, and reads the sibling members",
        arguments: ["[", "{\"a\":", "[{\"a\":"])
    func deepNesting(open: String) throws {
        let close = String(open.reversed().compactMap { $0 == "[" ? "]" : $0 == "{" ? "}" : nil })
        let deep = String(repeating: open, count: 100_000) + "0" + String(repeating: close, count: 100_000)
        let document = try parse("{\"before\":1,\"deep\":\(deep),\"after\":2}")
        #expect(document.exceededDepth)
        #expect(document.value["before"] == .number("1"))
        #expect(document.value["after"] == .number("2"))
    }

    @Test("the JSON parser refuses a deeply nested array or object that is not closed")
    func unclosedDepth() {
        #expect(throws: JSONFault.self) { try parse(String(repeating: "[", count: 100_000)) }
        #expect(throws: JSONFault.self) { try parse(String(repeating: "{\"a\":", count: 100_000)) }
        #expect(throws: JSONFault.self) { try parse(String(repeating: "[", count: 70) + "\"]]]]") }
    }

    @Test("if the JSON parser skips an array or object, brackets in its strings do not end the array or object")
    func bracketsInSkippedStrings() throws {
        let open = String(repeating: "[", count: 66)
        let close = String(repeating: "]", count: 66)
        let document = try parse("{\"deep\":\(open)\"]]\\\"}}\"\(close),\"after\":2}")
        #expect(document.exceededDepth)
        #expect(document.value["after"] == .number("2"))
    }
}
