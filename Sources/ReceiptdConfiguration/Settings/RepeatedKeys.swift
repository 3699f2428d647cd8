import Yams

/// Finds every key that its mapping has more than once.
///
/// The YAML library stops at the first repeated key. To find all faults of the file, this type puts a mark, which is a
/// private-use character, before the repeated key. Then the library parses the text again.
struct RepeatedKeys {
    /// The most keys that get a mark, because each needs another parse. If a file has more repeated keys, the next
    /// one is the only reported fault.
    static let maximum = 20
    private static let firstMark: UInt32 = 0xE000

    private var count = 0
    /// The text of each line that has marks, by line number.
    private var markedLines: [Int: [Unicode.Scalar]] = [:]

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        (firstMark..<firstMark + UInt32(maximum)).contains(scalar.value)
    }

    /// Returns the name of a key without its mark.
    static func originalName(_ name: String) -> String {
        guard let first = name.unicodeScalars.first, isMark(first) else { return name }
        return String(name.unicodeScalars.dropFirst())
    }

    /// Returns the position in the original file.
    func original(_ mark: Mark?) -> TextPosition {
        guard let mark else { return TextPosition(line: 1, column: 1) }
        let marks = markedLines[mark.line]?.prefix(mark.column - 1).count(where: Self.isMark) ?? 0
        return TextPosition(line: mark.line, column: mark.column - marks)
    }

    func fault(of names: [String], at mark: Mark) -> YAMLFault {
        let list = names.map { ShownText.quoted(Self.originalName($0)) }.joined(separator: ", ")
        return YAMLFault(position: original(mark), message: "\(list) is in one mapping more than once")
    }

    /// Returns the text with a mark before the key at this position; nil if the key cannot be marked safely.
    mutating func renaming(in text: String, at mark: Mark) -> String? {
        guard count < Self.maximum, let new = Unicode.Scalar(Self.firstMark + UInt32(count)) else { return nil }
        // If the file contains private-use characters, this type cannot tell these characters from marks.
        if count == 0, text.unicodeScalars.contains(where: Self.isMark) { return nil }
        var scalars = text.unicodeScalars
        guard var index = Self.index(line: mark.line, column: mark.column, in: scalars) else { return nil }
        switch scalars[index] {
        case "\"", "'": index = scalars.index(after: index)
        case "&", "*", "!", "?", "[", "{", "|", ">": return nil
        default: break
        }
        let start = Self.index(line: mark.line, column: 1, in: scalars) ?? scalars.startIndex
        scalars.insert(new, at: index)
        count += 1
        markedLines[mark.line] = Array(scalars[start...].prefix { !Self.isBreak($0) })
        return String(scalars)
    }

    /// Returns true for a line break of the YAML library. (In Swift, CR LF is one character.)
    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains(scalar)
    }

    private static func index(line wanted: Int, column: Int, in text: String.UnicodeScalarView) -> String.Index? {
        var line = 1
        var index = text.startIndex
        while line < wanted, index < text.endIndex {
            let scalar = text[index]
            index = text.index(after: index)
            guard isBreak(scalar) else { continue }
            line += 1
            if scalar == "\r", index < text.endIndex, text[index] == "\n" { index = text.index(after: index) }
        }
        return text.index(index, offsetBy: column - 1, limitedBy: text.endIndex).flatMap {
            $0 < text.endIndex && line == wanted ? $0 : nil
        }
    }
}
