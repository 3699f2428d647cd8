/// The names of the members that the parser keeps of a document. The parser skips all other members, which use no
/// memory.
public struct JSONNames: Sendable {
    /// The names by their length in bytes. Documents share these strings, so that parsing makes no new strings for
    /// names.
    private let byLength: [[(utf8: [UInt8], name: String)]]

    public init(_ names: [String]) {
        var byLength: [[(utf8: [UInt8], name: String)]] = []
        for name in names {
            let utf8 = Array(name.utf8)
            while byLength.count <= utf8.count { byLength.append([]) }
            byLength[utf8.count].append((utf8, name))
        }
        self.byLength = byLength
    }

    /// Returns the name that equals `utf8`; nil if no name does.
    func name(_ utf8: UnsafeBufferPointer<UInt8>) -> String? {
        guard utf8.count < byLength.count else { return nil }
        let isSought = { (name: [UInt8]) in name.withUnsafeBufferPointer { Self.areEqual($0, utf8) } }
        return byLength[utf8.count].first { isSought($0.utf8) }?.name
    }

    /// Compares from the end, because names of the same length often begin alike. Both must have the same length.
    private static func areEqual(_ name: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = name.count
        while index > 0 {
            index -= 1
            guard name[index] == other[index] else { return false }
        }
        return true
    }

    func name(_ text: String) -> String? {
        var text = text
        return text.withUTF8 { name($0) }
    }
}
