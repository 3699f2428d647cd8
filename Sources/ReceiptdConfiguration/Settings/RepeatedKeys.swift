import Yams

/// Keys that are in their mapping more than once.
///
/// The YAML library stops at the first of them. So that all faults of a file are found in one go, such a key gets a
/// mark, a private-use character before its name, and the text is parsed again.
struct RepeatedKeys {
    /// Each costs a pass over the text. After so many, the next one is the last that is told.
    static let maximum = 20
    private static let firstMark: UInt32 = 0xE000

    private var count = 0
    /// The text of each line that has marks.
    private var markedLines: [Int: [Unicode.Scalar]] = [:]

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        (firstMark..<firstMark + UInt32(maximum)).contains(scalar.value)
    }

    /// The name as the file has it.
    static func originalName(_ name: String) -> String {
        guard let first = name.unicodeScalars.first, isMark(first) else { return name }
        return String(name.unicodeScalars.dropFirst())
    }

    /// The place in the file as it was given.
    func original(_ mark: Mark?) -> TextPosition {
        guard let mark else { return TextPosition(line: 1, column: 1) }
        let marks = markedLines[mark.line]?.prefix(mark.column - 1).count(where: Self.isMark) ?? 0
        return TextPosition(line: mark.line, column: mark.column - marks)
    }

    func fault(of names: [String], at mark: Mark) -> YAMLFault {
        let list = names.map { ShownText.quoted(Self.originalName($0)) }.joined(separator: ", ")
        return YAMLFault(position: original(mark), message: "\(list) is in one mapping more than once")
    }

    /// The text with the key at `mark` renamed; nil where that cannot be done safely.
    mutating func renaming(in text: String, at mark: Mark) -> String? {
        guard count < Self.maximum, let new = Unicode.Scalar(Self.firstMark + UInt32(count)) else { return nil }
        // A file that has such characters of its own would be changed.
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

    /// Line breaks as the YAML library counts them; CR LF is one.
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
