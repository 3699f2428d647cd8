import TestSupport

/// Random valid JSON documents, with every kind of value, escape, number and white space.
struct RandomJSON {
    var random: SeededRandom
    private var bytes: [UInt8] = []

    init(random: SeededRandom) {
        self.random = random
    }

    mutating func document() -> [UInt8] {
        bytes = []
        value(depth: 0)
        space()
        return bytes
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func space() {
        while random.chance(15) { append(random.pick([" ", "\n", "\t", "\r"])) }
    }

    private mutating func value(depth: Int) {
        space()
        switch random.below(depth > 4 ? 5 : 8) {
        case 0: append(random.pick(["null", "true", "false"]))
        case 1, 2: number()
        case 3, 4: string()
        case 5: list("[", "]") { $0.value(depth: depth + 1) }
        default:
            list("{", "}") { writer in
                writer.space()
                writer.string()
                writer.space()
                writer.append(":")
                writer.value(depth: depth + 1)
            }
        }
        space()
    }

    private mutating func list(_ open: String, _ close: String, _ element: (inout RandomJSON) -> Void) {
        append(open)
        space()
        let count = random.below(5)
        for index in 0..<count {
            if index > 0 { append(",") }
            element(&self)
        }
        space()
        append(close)
    }

    private mutating func number() {
        if random.chance(30) { append("-") }
        append(random.pick(["0", "1", "9", "10", "42", "1795167000000", "9007199254740993"]))
        if random.chance(30) { append(random.pick([".0", ".5", ".125", ".0000001"])) }
        if random.chance(20) { append(random.pick(["e1", "E2", "e+3", "E-4", "e0"])) }
    }

    private mutating func string() {
        append("\"")
        for _ in 0..<random.below(12) {
            append(
                random.pick([
                    "a", "Z", "7", " ", "é", "e\u{301}", "漢", "😀", "\u{7F}", "\u{85}", "\u{2028}", "\\\"", "\\\\",
                    "\\/",
                    "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u0041", "\\u00e9", "\\u00E9", "\\u20ac",
                    "\\ud83d\\ude00", "\\uDBFF\\uDFFF", "{", "[", "]", "}", ",", ":", "\u{FFFD}", "\u{10FFFF}",
                ]))
        }
        append("\"")
    }
}
