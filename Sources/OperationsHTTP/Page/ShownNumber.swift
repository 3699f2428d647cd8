import Foundation

/// Formats numbers for people, in English even if the host has another language.
package enum ShownNumber {
    /// Returns the whole number, with its thousands separated.
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

    /// Returns the number with at most three decimals below 1, two below 10, one below 100, and none from 100 on. The
    /// decimals never end in a zero.
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

    /// Returns a duration in milliseconds or seconds.
    /// - Parameter seconds: the duration; nil if none was measured.
    package static func duration(_ seconds: Double?) -> String {
        guard let seconds else { return "–" }
        return seconds < 1 ? short(seconds * 1000) + " ms" : short(seconds) + " s"
    }
}
