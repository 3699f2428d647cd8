import Foundation

/// Writes a progress line to standard error if that is a terminal. Each new line replaces the last line.
package struct ProgressBar {
    private static let pauseSeconds = 0.1

    private let isShown = isatty(STDERR_FILENO) == 1
    private var width: Int? { Terminal.width(of: STDERR_FILENO) }
    private let label: String
    private let start = ContinuousClock.now
    private var shownAt: Double?

    package init(_ label: String) {
        self.label = label
    }

    /// Writes the line, unless the last line is too recent.
    /// - Parameters:
    ///   - done: the finished part of `total`, in the unit of `total`: rows, or bytes of a file.
    ///   - count: the number that the line shows, and from which the line computes the rate; nil for `done`.
    package mutating func show(_ done: Int, of total: Int, count: Int? = nil) {
        guard isShown else { return }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard done >= total || seconds - (shownAt ?? -1) >= Self.pauseSeconds else { return }
        shownAt = seconds
        // The escape sequence at the end clears the rest of a longer line.
        let line = ProgressText.line(
            done, of: total, count: count ?? done, seconds: seconds, width: width.map { $0 - label.count - 2 })
        write("\r\(label) \(line)\u{1B}[K")
    }

    package func end() {
        if isShown, shownAt != nil { write("\n") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

/// Makes the text of a progress line: the bar, per cent, the number, the rate, and the time that is left at this rate.
enum ProgressText {
    /// The most characters of the bar. On a narrow terminal the bar is shorter.
    private static let maximumWidth = 30
    private static let minimumWidth = 5
    /// The seconds before which the line shows no rate, because the rate would be a guess.
    private static let firstSeconds = 0.5

    /// Returns the text of the line.
    /// - Parameter width: the most characters; nil for no limit. A narrow width first shortens the bar, then leaves out
    ///   the last parts.
    static func line(_ done: Int, of total: Int, count: Int, seconds: Double, width: Int? = nil) -> String {
        let share = total <= 0 ? 1 : min(1, max(0, Double(done) / Double(total)))
        var parts = ["\(Int(share * 100)) %", count == done ? "\(done) of \(total)" : "\(count)"]
        if seconds >= firstSeconds, done > 0 {
            parts.append("\(Int(Double(count) / seconds)) a second")
            if share < 1 { parts.append("\(duration(seconds * (1 - share) / share)) left") }
        }
        let room = width ?? .max
        while parts.count > 1, minimumWidth + 1 + parts.joined(separator: ", ").count > room { parts.removeLast() }
        let words = parts.joined(separator: ", ")
        let barWidth = max(minimumWidth, min(maximumWidth, room - words.count - 1))
        return "\(bar(share, width: barWidth)) \(words)".cut(to: room)
    }

    private static func bar(_ share: Double, width: Int) -> String {
        let filled = Int(share * Double(width))
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    private static func duration(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 1e9).rounded(.up))
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }
}
