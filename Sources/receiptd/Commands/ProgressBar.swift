import Foundation

/// One line on standard error that is drawn over, on a terminal; nothing at all elsewhere.
struct ProgressBar {
    /// Redrawn no more often.
    private static let pauseSeconds = 0.1

    private let isShown = isatty(STDERR_FILENO) == 1
    private let label: String
    private let start = ContinuousClock.now
    private var shownAt: Double?

    init(_ label: String) {
        self.label = label
    }

    /// - Parameters:
    ///   - done: of `total`, in a unit of which the whole is known: rows, or bytes of a file.
    ///   - count: what the rate counts, where that is another unit.
    mutating func show(_ done: Int, of total: Int, count: Int? = nil) {
        guard isShown else { return }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard done >= total || seconds - (shownAt ?? -1) >= Self.pauseSeconds else { return }
        shownAt = seconds
        // What an earlier, longer line left is wiped out.
        write("\r\(label) \(ProgressText.line(done, of: total, count: count ?? done, seconds: seconds))\u{1B}[K")
    }

    func end() {
        if isShown, shownAt != nil { write("\n") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

/// What a progress bar says: the bar, per cent, how many, how many a second, and the time that is left at this rate.
enum ProgressText {
    private static let width = 30
    /// Before that a rate is a guess.
    private static let firstSeconds = 0.5

    static func line(_ done: Int, of total: Int, count: Int, seconds: Double) -> String {
        let share = total <= 0 ? 1 : min(1, max(0, Double(done) / Double(total)))
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        var parts = ["\(bar) \(Int(share * 100)) %", count == done ? "\(done) of \(total)" : "\(count)"]
        if seconds >= firstSeconds, done > 0 {
            parts.append("\(Int(Double(count) / seconds)) a second")
            if share < 1 { parts.append("\(duration(seconds * (1 - share) / share)) left") }
        }
        return parts.joined(separator: ", ")
    }

    private static func duration(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 1e9).rounded(.up))
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }
}
