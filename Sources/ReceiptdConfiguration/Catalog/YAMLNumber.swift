/// The number in a plain scalar, after YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#1032-tag-resolution).
enum YAMLNumber: Equatable {
    /// The number in JSON's notation, with the same digits as in the file.
    case number(String)
    /// Infinity, not-a-number, or a number outside the range of 64-bit floating point.
    case notFinite
    /// A number that YAML 1.1 and 1.2 read differently: octal, hexadecimal, binary, with a leading zero or with
    /// underscores.
    case ambiguous
    case text

    init(_ text: String) {
        var rest = Substring(text)
        let isNegative = rest.first == "-"
        if isNegative || rest.first == "+" { rest.removeFirst() }
        if [".inf", ".Inf", ".INF"].contains(rest) || [".nan", ".NaN", ".NAN"].contains(text) {
            self = .notFinite
            return
        }
        guard let first = rest.first, first.isDecimalDigit || first == "." else {
            self = .text
            return
        }
        let whole = rest.prefix { $0.isDecimalDigit }
        var tail = rest[whole.endIndex...]
        var fraction: Substring?
        if tail.first == "." {
            let digits = tail.dropFirst().prefix { $0.isDecimalDigit }
            fraction = digits
            tail = tail[digits.endIndex...]
        }
        guard !whole.isEmpty || fraction?.isEmpty == false, let exponent = Self.exponent(tail) else {
            self = Self.isAmbiguous(rest) ? .ambiguous : .text
            return
        }
        guard whole == "0" || !whole.hasPrefix("0") else {
            self = .ambiguous
            return
        }
        var json = (isNegative ? "-" : "") + (whole.isEmpty ? "0" : String(whole))
        if let fraction { json += "." + (fraction.isEmpty ? "0" : String(fraction)) }
        json += exponent
        // A whole number of any length is exact. Any other number is read as floating point.
        let isFinite = fraction == nil && exponent.isEmpty || Double(json)?.isFinite == true
        self = isFinite ? .number(json) : .notFinite
    }

    /// Returns the exponent; empty text if `tail` is empty; nil if `tail` is no exponent.
    private static func exponent(_ tail: Substring) -> String? {
        if tail.isEmpty { return "" }
        guard tail.first == "e" || tail.first == "E" else { return nil }
        var digits = tail.dropFirst()
        if digits.first == "-" || digits.first == "+" { digits.removeFirst() }
        return !digits.isEmpty && digits.allSatisfy(\.isDecimalDigit) ? String(tail) : nil
    }

    private static func isAmbiguous(_ text: Substring) -> Bool {
        let lower = text.lowercased()
        if lower.hasPrefix("0x") {
            return lower.count > 2 && lower.dropFirst(2).allSatisfy { $0.isHexDigit || $0 == "_" }
        }
        if lower.hasPrefix("0o") || lower.hasPrefix("0b") {
            return lower.count > 2 && lower.dropFirst(2).allSatisfy { ("0"..."7").contains($0) || $0 == "_" }
        }
        let digits = lower.filter { $0 != "_" && $0 != "." }
        return lower.contains("_") && !digits.isEmpty && digits.allSatisfy(\.isDecimalDigit)
    }
}

extension Character {
    fileprivate var isDecimalDigit: Bool { ("0"..."9").contains(self) && isASCII }
}
