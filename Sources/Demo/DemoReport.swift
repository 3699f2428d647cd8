import Encodings
import Fulfillment

/// Formats the results of the demo's submissions.
package struct DemoReport: Sendable {
    let results: [SeedReplay.Result]

    package var isAsExpected: Bool { results.allSatisfy { $0.differences.isEmpty } }

    package struct Style: Sendable {
        /// The terminal's width in columns; nil for no limit. The report never cuts a line about a difference.
        package var width: Int?
        package var hasColors: Bool
        /// True to list every case; false to list only the cases that differ from the expectation.
        package var listsAll: Bool

        package init(width: Int?, hasColors: Bool, listsAll: Bool) {
            self.width = width
            self.hasColors = hasColors
            self.listsAll = listsAll
        }
    }

    /// The length of the horizontal line, for a terminal of 80 columns.
    private static let ruled = 79

    /// Returns the counts, and then the cases.
    package func text(_ style: Style) -> String {
        var lines = ["", "Results of the submissions of \(results.count) cases:"].map { Line($0, .heading) }
        for (key, count) in counts { lines.append(Line("  \(pad(key.0, 21)) \(pad(key.1, 26)) \(count)")) }
        let shown = results.filter { style.listsAll || !$0.differences.isEmpty }
        if !shown.isEmpty {
            lines += [Line(""), Line("  \(row("case", "outcome", "reason"))", .heading)]
            lines.append(Line(String(repeating: "─", count: Self.ruled)))
            lines += shown.flatMap(self.lines)
        }
        return lines.map { $0.text(style) }.joined(separator: "\n")
    }

    private struct Line {
        enum Kind { case plain, heading, good, bad }

        let words: String
        let kind: Kind

        init(_ words: String, _ kind: Kind = .plain) {
            self.words = words
            self.kind = kind
        }

        /// Returns the line. Cuts the line before it adds colors, because colors need no columns.
        func text(_ style: Style) -> String {
            var words = words
            if let width = style.width, words.count > width, kind != .bad {
                words = String(words.prefix(max(0, width - 1))) + "…"
            }
            guard style.hasColors, !words.isEmpty else { return words }
            return switch kind {
            case .plain: words
            case .heading: "\u{1B}[1m\(words)\u{1B}[0m"
            case .good: "\u{1B}[32m\(words.prefix(1))\u{1B}[0m\(words.dropFirst())"
            case .bad: "\u{1B}[31m\(words)\u{1B}[0m"
            }
        }
    }

    private func lines(of result: SeedReplay.Result) -> [Line] {
        var rows = result.events.flatMap { event in
            let outcome = (
                event["type"]?.string ?? "-", event["reason"]?.string ?? event["transaction_id"]?.string ?? ""
            )
            return event["detail_code"]?.string.map { [outcome, ("  detail_code \($0)", "")] } ?? [outcome]
        }
        rows += Array(repeating: ("dead letter", ""), count: result.deadLetters)
        let isGood = result.differences.isEmpty
        let first = rows.first ?? ("-", "")
        return [Line((isGood ? "✓ " : "✗ ") + row(result.seed.name, first.0, first.1), isGood ? .good : .bad)]
            + rows.dropFirst().map { Line("  " + row("", $0.0, $0.1)) }
            + result.differences.map { Line("    ✗ " + $0, .bad) }
    }

    private var counts: [((String, String), Int)] {
        var counts: [String: Int] = [:]
        for event in results.flatMap(\.events) {
            counts["\(event["type"]?.string ?? "-")\t\(event["reason"]?.string ?? "")", default: 0] += 1
        }
        let deadLetters = results.reduce(0) { $0 + $1.deadLetters }
        if deadLetters > 0 { counts["dead letter\t"] = deadLetters }
        return counts.sorted { $0.key < $1.key }.map { key, count in
            let parts = key.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return ((parts[0], parts[1]), count)
        }
    }

    private func row(_ name: String, _ outcome: String, _ reason: String) -> String {
        "\(pad(name, 36))\(pad(outcome, 21))\(reason)"
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
