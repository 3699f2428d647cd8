import Foundation

/// One line on standard error that is drawn over, on a terminal; nothing at all elsewhere.
struct ProgressBar {
    private static let width = 40
    private let isShown = isatty(STDERR_FILENO) == 1
    private let label: String
    private var shown = -1

    init(_ label: String) {
        self.label = label
    }

    mutating func show(_ done: Int, of total: Int) {
        let filled = total == 0 ? Self.width : done * Self.width / total
        guard isShown, filled != shown || done == total else { return }
        shown = filled
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        write("\r\(label) \(bar) \(done)/\(total)")
    }

    func end() {
        if isShown { write("\n") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
