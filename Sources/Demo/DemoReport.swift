import Fulfillment

/// What became of the demo's submissions, as text.
package struct DemoReport: Sendable {
    let results: [SeedReplay.Result]

    package var isAsExpected: Bool { results.allSatisfy { $0.differences.isEmpty } }

    private static let widest = 100

    private static let fault = "    ✗ "

    /// - Parameter width: of the terminal; nil: nothing is cut. What differs from a case is never cut.
    package func text(width: Int?) -> String {
        lines(ruled: min(width ?? Self.widest, Self.widest)).map { line in
            guard let width, line.count > width, !line.hasPrefix(Self.fault) else { return line }
            return String(line.prefix(max(0, width - 1))) + "…"
        }.joined(separator: "\n")
    }

    private func lines(ruled width: Int) -> [String] {
        var lines = ["", row("case", "outcome", "reason", "")]
        lines.append(String(repeating: "─", count: width))
        for result in results {
            let mark = result.differences.isEmpty ? "✓" : "✗"
            var rows = result.events.map { event in
                (event["type"]?.string ?? "-", event["reason"]?.string ?? event["transaction_id"]?.string ?? "")
            }
            rows += Array(repeating: ("dead letter", ""), count: result.deadLetters)
            for (index, entry) in rows.enumerated() {
                lines.append(row(index == 0 ? result.seed.name : "", entry.0, entry.1, index == 0 ? mark : ""))
            }
            if rows.isEmpty { lines.append(row(result.seed.name, "-", "", mark)) }
            for difference in result.differences { lines.append(Self.fault + difference) }
        }
        lines += ["", "What became of them:"]
        for (key, count) in counts { lines.append("  \(pad(key.0, 20)) \(pad(key.1, 26)) \(count)") }
        return lines
    }

    /// By type and reason.
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

    private func row(_ name: String, _ outcome: String, _ reason: String, _ mark: String) -> String {
        "\(pad(mark, 2))\(pad(name, 44))\(pad(outcome, 20))\(reason)"
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
