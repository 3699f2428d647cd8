import Foundation
import Testing

/// The rules of layout and accessibility that every page must keep.
extension Browser {
    private static let pictures = ProcessInfo.processInfo.environment["RECEIPTD_TEST_SCREENSHOTS"]
    /// The path of axe, which checks accessibility. `scripts/deploy-tools.sh` installs axe.
    private static let axe = ProcessInfo.processInfo.environment["RECEIPTD_TEST_AXE"]

    func picture(_ name: String) async throws {
        guard let folder = Self.pictures else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await screenshot(URL(fileURLWithPath: folder).appendingPathComponent("\(name).png"))
    }

    /// Returns the rules with serious violations, each with the first element that breaks it.
    func graveFaults() async throws -> [String] {
        if try await evaluate("return typeof axe") as? String != "object" { try await loadAxe() }
        // Without this option axe also describes each rule that the page keeps.
        let found = try await evaluateLater(
            """
            const done = arguments[arguments.length - 1];
            axe.run({resultTypes: ['violations']}).then(
              result => done(result.violations.filter(rule => ['serious', 'critical'].includes(rule.impact))
                .map(rule => rule.id + ': ' + rule.nodes[0].html)),
              error => done(['axe: ' + error]));
            """)
        return found as? [String] ?? ["axe gave no answer"]
    }

    /// Loads axe into this page, and into each page that the browser opens later.
    private func loadAxe() async throws {
        let path = try #require(Self.axe, "RECEIPTD_TEST_AXE names axe.min.js: make test sets it")
        let script = try String(contentsOfFile: path, encoding: .utf8)
        try await devtools("Page.addScriptToEvaluateOnNewDocument", ["source": script])
        _ = try await evaluate(script + "; return typeof axe;")
    }

    /// The width of the whole content in CSS pixels. If it is larger than the window, a user must scroll sideways.
    var contentWidth: Int? {
        get async throws { try await evaluate("return document.documentElement.scrollWidth") as? Int }
    }

    /// The addresses of the files that the page loaded.
    var requests: [String]? {
        get async throws {
            try await evaluate("return performance.getEntriesByType('resource').map(entry => entry.name)") as? [String]
        }
    }

    /// Returns the parts of the page that are hard to read. These are a table wider than its container, a word broken
    /// in a cell, buttons of one row on several lines, and a label that is not above its field.
    func layoutFaults() async throws -> [String] {
        let found = try await evaluate(
            """
            const faults = [];
            const lines = rects => new Set([...rects].map(rect => Math.round(rect.top))).size;
            for (const region of document.querySelectorAll('.wide'))
              if (region.checkVisibility() && region.scrollWidth > region.clientWidth) faults.push('scrolls: ' + region.getAttribute('aria-label'));
            for (const fact of document.querySelectorAll('.facts dd'))
              if (fact.scrollWidth > fact.clientWidth) faults.push('overlaps: ' + fact.textContent);
            const range = document.createRange();
            for (const cell of document.querySelectorAll('.wide td, .wide th')) {
              const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
              while (walker.nextNode()) {
                const node = walker.currentNode;
                if (!node.parentElement.checkVisibility()) continue;
                const words = node.parentElement.closest('.word') ? /\\S+/g : /[^\\s-]+/g;
                for (const match of node.data.matchAll(words)) {
                  if (match[0].length > 40) continue;
                  range.setStart(node, match.index);
                  range.setEnd(node, match.index + match[0].length);
                  if (lines(range.getClientRects()) > 1) faults.push('breaks: ' + match[0]);
                }
              }
            }
            for (const row of document.querySelectorAll('.decide'))
              if (lines([...row.querySelectorAll('.button')].map(button => button.getBoundingClientRect())) > 1)
                faults.push('stacks: ' + row.textContent);
            for (const field of document.querySelectorAll('.filter > div')) {
              const [label, control] = [...field.children].map(child => child.getBoundingClientRect());
              if (Math.abs(label.left - control.left) > 1 || label.bottom > control.top + 1)
                faults.push('apart: ' + field.textContent);
            }
            return faults;
            """)
        return found as? [String] ?? ["the page gave no answer"]
    }
}
