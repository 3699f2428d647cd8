/// Writes DER, and the forms of BER that receipts have.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(octets.count)] + octets
    }

    /// Returns an element of indefinite length, which ends with end-of-contents octets.
    static func indefinite(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, 0x80] + content + [0, 0] }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap(\.self)) }
    static func set(_ parts: [UInt8]...) -> [UInt8] { element(0x31, parts.flatMap(\.self)) }
    static func octets(_ content: [UInt8]) -> [UInt8] { element(0x04, content) }
    static func utf8(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }
    static func ia5(_ text: String) -> [UInt8] { element(0x16, Array(text.utf8)) }
    static let null: [UInt8] = [0x05, 0x00]

    static func integer(_ value: Int64) -> [UInt8] {
        var octets = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
        while octets.count > 1, octets[0] == 0 && octets[1] < 0x80 || octets[0] == 0xFF && octets[1] >= 0x80 {
            octets.removeFirst()
        }
        return element(0x02, octets)
    }

    static func oid(_ components: UInt...) -> [UInt8] {
        var content = [UInt8(components[0] * 40 + components[1])]
        for component in components.dropFirst(2) {
            var digits = [UInt8(component & 0x7F)]
            var rest = component >> 7
            while rest > 0 {
                digits.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                rest >>= 7
            }
            content += digits
        }
        return element(0x06, content)
    }
}
