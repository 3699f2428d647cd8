/// Writes definite-length DER; nested elements are written in place and their length inserted afterwards.
struct DERWriter {
    enum Tag {
        static let integer: UInt8 = 0x02
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectIdentifier: UInt8 = 0x06
        static let utf8String: UInt8 = 0x0C
        static let ia5String: UInt8 = 0x16
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        static let context0: UInt8 = 0xA0
    }

    private(set) var bytes: [UInt8] = []

    mutating func element(_ tag: UInt8, _ content: (inout DERWriter) -> Void) {
        bytes.append(tag)
        let start = bytes.count
        content(&self)
        bytes.insert(contentsOf: Self.length(bytes.count - start), at: start)
    }

    mutating func primitive(_ tag: UInt8, _ content: some Collection<UInt8>) {
        bytes.append(tag)
        bytes.append(contentsOf: Self.length(content.count))
        bytes.append(contentsOf: content)
    }

    mutating func raw(_ encoded: [UInt8]) {
        bytes.append(contentsOf: encoded)
    }

    mutating func integer(_ value: Int64) {
        var content = withUnsafeBytes(of: value.bigEndian) { Array($0) }
        // DER wants the shortest two's complement form.
        while content.count > 1,
            (content[0] == 0x00 && content[1] < 0x80) || (content[0] == 0xFF && content[1] >= 0x80)
        {
            content.removeFirst()
        }
        primitive(Tag.integer, content)
    }

    mutating func utf8(_ text: some StringProtocol) {
        primitive(Tag.utf8String, Array(text.utf8))
    }

    mutating func ia5(_ text: String) {
        primitive(Tag.ia5String, Array(text.utf8))
    }

    /// `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`
    mutating func attribute(_ type: Int64, version: Int64 = 1, _ value: (inout DERWriter) -> Void) {
        element(Tag.sequence) {
            $0.integer(type)
            $0.integer(version)
            $0.element(Tag.octetString, value)
        }
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var digits: [UInt8] = []
        var rest = count
        while rest > 0 {
            digits.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(digits.count)] + digits
    }
}
