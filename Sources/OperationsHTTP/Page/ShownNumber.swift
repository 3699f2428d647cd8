import Foundation

/// Numbers for people, in English whatever the host's language is.
package enum ShownNumber {
    /// Returns the number with its thousands set apart.
    package static func whole(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "–" }
        var digits = String(Int(abs(value).rounded()))
        var parts: [String] = []
        while digits.count > 3 {
            parts.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (value <= -0.5 ? "-" : "") + ([digits] + parts).joined(separator: ",")
    }

    /// Returns the number with three digits; below 1 with three decimals, and from 100 on as a whole number.
    package static func short(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        if value == 0 { return "0" }
        if abs(value) >= 100 { return whole(value) }
        let decimals = abs(value) >= 10 ? 1 : abs(value) >= 1 ? 2 : 3
        var text = String(format: "%.\(decimals)f", value)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }

    /// - Parameter seconds: nil where nothing was measured.
    package static func duration(_ seconds: Double?) -> String {
        guard let seconds else { return "–" }
        return seconds < 1 ? short(seconds * 1000) + " ms" : short(seconds) + " s"
    }
}
