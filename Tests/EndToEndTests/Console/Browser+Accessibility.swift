import Foundation
import Testing

/// What every page is held to.
extension Browser {
    /// Where pictures of pages are put.
    private static let pictures = ProcessInfo.processInfo.environment["RECEIPTD_TEST_SCREENSHOTS"]
    /// The rules of accessibility, by `scripts/check-tools.sh`.
    private static let axe = ProcessInfo.processInfo.environment["RECEIPTD_TEST_AXE"]

    func picture(_ name: String) async throws {
        guard let folder = Self.pictures else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await screenshot(URL(fileURLWithPath: folder).appendingPathComponent("\(name).png"))
    }

    /// Rules that are broken gravely, with the first element that breaks each.
    func graveFaults() async throws -> [String] {
        let path = try #require(Self.axe, "RECEIPTD_TEST_AXE names axe.min.js: make test sets it")
        _ = try await evaluate(String(contentsOfFile: path, encoding: .utf8) + "; return typeof axe;")
        let found = try await evaluateLater(
            """
            const done = arguments[arguments.length - 1];
            axe.run().then(
              result => done(result.violations.filter(rule => ['serious', 'critical'].includes(rule.impact))
                .map(rule => rule.id + ': ' + rule.nodes[0].html)),
              error => done(['axe: ' + error]));
            """)
        return found as? [String] ?? ["axe gave no answer"]
    }

    /// Of all that is there, in CSS pixels: more than the window's, and one must scroll sideways.
    var contentWidth: Int? {
        get async throws { try await evaluate("return document.documentElement.scrollWidth") as? Int }
    }

    /// What the page has asked for, besides itself.
    var requests: [String]? {
        get async throws {
            try await evaluate("return performance.getEntriesByType('resource').map(entry => entry.name)") as? [String]
        }
    }
}
