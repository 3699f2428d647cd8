/// A strict JSON parser (RFC 8259) for bytes from outside. The parser reads in one pass, limits the depth and never
/// traps.
///
/// Foundation's decoder takes eight to sixteen times as long, and loses the text of numbers (decision 0005). The tests
/// compare this parser's results with Foundation's.
public struct JSONParser {
    /// The most nested containers. The parser skips a deeper container (`exceededDepth`).
    public static let maximumDepth = 64

    public struct Document: Sendable {
        public let value: JSONValue
        /// True if a container was deeper than `maximumDepth`. The parser checked only the container's brackets, and
        /// made the container null.
        public let exceededDepth: Bool
    }

    /// Reads a whole document: one value with white space around it. Throws `JSONFault` for other bytes.
    /// - Parameter names: the members that the parser keeps in every object; nil to keep all. Other members must be
    ///   JSON too, but are absent from the document.
    public static func parse(_ bytes: [UInt8], keeping names: JSONNames? = nil) throws(JSONFault) -> Document {
        guard UTF8Validation.isValid(bytes) else { throw JSONFault(message: "not valid UTF-8", offset: 0) }
        let result: Result<Document, JSONFault> = bytes.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(bytes: buffer, names: names)
            parser.openMembers.reserveCapacity(16)
            do throws(JSONFault) {
                parser.skipWhitespace()
                let value = try parser.value(depth: 0)
                parser.skipWhitespace()
                guard parser.index == buffer.count else { throw parser.fault("something follows the value") }
                return .success(Document(value: value, exceededDepth: parser.exceededDepth))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    let bytes: UnsafeBufferPointer<UInt8>
    let names: JSONNames?
    var index = 0
    /// False inside a member that the parser does not keep. Then the parser makes no values.
    var keeps = true
    private var exceededDepth = false
    /// The members of all open objects, the innermost last. At an object's end, the parser moves the object's members
    /// into an array of exactly their number.
    private var openMembers: [JSONMember] = []
    /// The elements of all open arrays, the innermost last.
    private var openElements: [JSONValue] = []

    private init(bytes: UnsafeBufferPointer<UInt8>, names: JSONNames?) {
        self.bytes = bytes
        self.names = names
    }

    func fault(_ message: String) -> JSONFault { JSONFault(message: message, offset: index) }

    /// The byte at the index; 0 at the end. No caller accepts a NUL in the text.
    @inline(__always) var current: UInt8 { index < bytes.count ? bytes[index] : 0 }

    @inline(__always) mutating func skipWhitespace() {
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            index += 1
        }
    }

    private mutating func value(depth: Int) throws(JSONFault) -> JSONValue {
        switch current {
        case UInt8(ascii: "{"): return try container(depth: depth)
        case UInt8(ascii: "["): return try container(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func container(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth < Self.maximumDepth else {
            exceededDepth = true
            try skipContainer()
            return .null
        }
        return current == UInt8(ascii: "{") ? try object(depth: depth) : try array(depth: depth)
    }

    private mutating func object(depth: Int) throws(JSONFault) -> JSONValue {
        index += 1
        let first = openMembers.count
        skipWhitespace()
        if current == UInt8(ascii: "}") {
            index += 1
            return .object([])
        }
        while true {
            guard current == UInt8(ascii: "\"") else { throw fault("a member's name is missing") }
            let name = try keptName()
            skipWhitespace()
            guard current == UInt8(ascii: ":") else { throw fault("a colon is missing") }
            index += 1
            skipWhitespace()
            if let name {
                let value = try value(depth: depth + 1)
                openMembers.append(JSONMember(name: name, value: value))
            } else {
                try skipValue(depth: depth + 1)
            }
            skipWhitespace()
            if current == UInt8(ascii: "}") {
                index += 1
                return .object(openMembers.takeSuffix(from: first))
            }
            guard current == UInt8(ascii: ",") else { throw fault("an object is not closed") }
            index += 1
            skipWhitespace()
        }
    }

    private mutating func array(depth: Int) throws(JSONFault) -> JSONValue {
        index += 1
        let first = openElements.count
        skipWhitespace()
        if current == UInt8(ascii: "]") {
            index += 1
            return .array([])
        }
        while true {
            let element = try value(depth: depth + 1)
            if keeps { openElements.append(element) }
            skipWhitespace()
            if current == UInt8(ascii: "]") {
                index += 1
                return .array(openElements.takeSuffix(from: first))
            }
            guard current == UInt8(ascii: ",") else { throw fault("an array is not closed") }
            index += 1
            skipWhitespace()
        }
    }

    /// Reads and checks a value, but keeps nothing of it.
    private mutating func skipValue(depth: Int) throws(JSONFault) {
        let keptBefore = keeps
        keeps = false
        _ = try value(depth: depth)
        keeps = keptBefore
    }

    /// Skips a container by its brackets, without recursion, so that 100,000 levels use no stack.
    private mutating func skipContainer() throws(JSONFault) {
        var open = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): open += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                open -= 1
                if open == 0 {
                    index += 1
                    return
                }
            case UInt8(ascii: "\""):
                _ = try string()
                continue
            default: break
            }
            index += 1
        }
        throw fault("a container is not closed")
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONFault) -> JSONValue {
        let matches = text.withUTF8Buffer { literal in
            index + literal.count <= bytes.count && (0..<literal.count).allSatisfy { bytes[index + $0] == literal[$0] }
        }
        guard matches else { throw fault("not a JSON value") }
        index += text.utf8CodeUnitCount
        return value
    }

    private mutating func number() throws(JSONFault) -> String {
        let start = index
        if current == UInt8(ascii: "-") { index += 1 }
        if current == UInt8(ascii: "0") {
            index += 1
        } else {
            try digits()
        }
        if current == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            index += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        return text(from: start)
    }

    private mutating func digits() throws(JSONFault) {
        let start = index
        while current >= 0x30, current <= 0x39 { index += 1 }
        guard index > start else { throw fault("not a JSON value") }
    }
}

extension Array {
    fileprivate mutating func takeSuffix(from first: Int) -> [Element] {
        guard first < count else { return [] }
        let suffix = Array(self[first...])
        removeSubrange(first...)
        return suffix
    }
}
