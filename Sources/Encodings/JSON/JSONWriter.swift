/// Builds one JSON document as bytes, with the members in the order of the calls. Equal calls give equal bytes.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    public init(capacity: Int = 768) {
        bytes.reserveCapacity(capacity)
    }

    public mutating func beginObject() { begin(UInt8(ascii: "{")) }
    public mutating func endObject() { end(UInt8(ascii: "}")) }
    public mutating func beginArray() { begin(UInt8(ascii: "[")) }
    public mutating func endArray() { end(UInt8(ascii: "]")) }

    public mutating func name(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func name(_ name: String) {
        separate()
        appendQuoted(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func string(_ text: String) {
        separate()
        appendQuoted(text)
        needsComma = true
    }

    @inlinable
    public mutating func number(_ value: some BinaryInteger) { raw(String(value)) }

    public mutating func bool(_ value: Bool) { raw(value ? "true" : "false") }
    public mutating func null() { raw("null") }

    /// Writes text that is already a JSON value.
    public mutating func raw(_ json: String) {
        separate()
        bytes.append(contentsOf: json.utf8)
        needsComma = true
    }

    public mutating func member(_ name: StaticString, _ text: String) {
        self.name(name)
        string(text)
    }

    public mutating func member(_ name: StaticString, ifPresent text: String?) {
        if let text { member(name, text) }
    }

    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): bool(flag)
        case .number(let text): raw(text)
        case .string(let text): string(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    /// Appends a string in quotes. Escapes quotes, backslashes and control characters, also DEL and the C1 controls
    /// (U+0080 to U+009F).
    private mutating func appendQuoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            guard !Self.isPlain(utf8) else { return bytes.append(contentsOf: utf8) }
            var plainStart = 0
            var index = 0
            while index < utf8.count {
                let byte = utf8[index]
                // Valid UTF-8 never ends in a lead byte, so another byte follows.
                let isUpperControl = byte == 0xC2 && utf8[index + 1] < 0xA0
                let isPlain = byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F
                if isPlain, !isUpperControl {
                    index += 1
                    continue
                }
                bytes.append(contentsOf: utf8[plainStart..<index])
                appendEscape(isUpperControl ? utf8[index + 1] : byte)
                index += isUpperControl ? 2 : 1
                plainStart = index
            }
            bytes.append(contentsOf: utf8[plainStart...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns whether all bytes are printable ASCII that needs no escape. The loop has no early exit, so that the CPU
    /// checks many bytes in one step.
    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for byte in bytes {
            found |= (byte < 0x20 ? 1 : 0) | (byte == 0x22 ? 1 : 0) | (byte == 0x5C ? 1 : 0) | (byte >= 0x7F ? 1 : 0)
        }
        return found == 0
    }

    private mutating func appendEscape(_ scalar: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch scalar {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(scalar)
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: [0x75, 0x30, 0x30])
            for nibble in [scalar >> 4, scalar & 0xF] { bytes.append(nibble < 10 ? 0x30 + nibble : 0x57 + nibble) }
        }
    }
}
