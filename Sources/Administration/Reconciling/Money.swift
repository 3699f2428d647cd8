/// Amounts in thousandths of a currency's main unit, as in Apple's prices. A sum that would overflow stops at the
/// largest number, because sums are only an indication.
package enum Money {
    /// Returns the amount in thousandths, such as 990 for `0.99`; nil if the text is no amount.
    static func milliunits(_ text: String) -> Int64? {
        let isNegative = text.hasPrefix("-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isDigits = { (digits: Substring) in digits.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard let first = parts.first, !first.isEmpty, parts.allSatisfy(isDigits), let whole = Int64(first) else {
            return nil
        }
        let digits = parts.count > 1 ? String(parts[1].prefix(3)) : ""
        let thousandths = Int64(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
        let (product, isTooMuch) = whole.multipliedReportingOverflow(by: 1000)
        guard !isTooMuch else { return nil }
        let amount = product.addingClamped(thousandths)
        return isNegative ? -amount : amount
    }

    /// Returns the text; nil if the text is no ISO 4217 code.
    static func currency(_ text: String) -> String? {
        text.utf8.count == 3 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) } ? text : nil
    }

    /// Returns the amount with two decimals, such as `12.99`; with three if the third is not 0.
    package static func text(_ milliunits: Int64) -> String {
        let magnitude = milliunits.magnitude
        var part = String(magnitude % 1000)
        part = String(repeating: "0", count: 3 - part.count) + part
        if part.hasSuffix("0") { part.removeLast() }
        return (milliunits < 0 ? "-" : "") + "\(magnitude / 1000).\(part)"
    }
}

extension Int64 {
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? (other < 0 ? .min + 1 : .max) : sum
    }

    mutating func addClamped(_ other: Int64) { self = addingClamped(other) }

    func multipliedClamped(by other: Int64) -> Int64 {
        let (product, isTooMuch) = multipliedReportingOverflow(by: other)
        return isTooMuch ? ((self < 0) != (other < 0) ? .min + 1 : .max) : product
    }
}
