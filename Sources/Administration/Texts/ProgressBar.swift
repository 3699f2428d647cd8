import Foundation

/// A progress line on standard error. A terminal draws the line over the last one; elsewhere nothing is written.
package struct ProgressBar {
    /// The shortest time between two drawings.
    private static let pauseSeconds = 0.1

    private let isShown = isatty(STDERR_FILENO) == 1
    private var width: Int? { Terminal.width(of: STDERR_FILENO) }
    private let label: String
    private let start = ContinuousClock.now
    private var shownAt: Double?

    package init(_ label: String) {
        self.label = label
    }

    /// Draws the line, if it is time.
    /// - Parameters:
    ///   - done: the finished part of `total`, in the unit of `total`: rows, or bytes of a file.
    ///   - count: the number for the rate, if the rate has another unit.
    package mutating func show(_ done: Int, of total: Int, count: Int? = nil) {
        guard isShown else { return }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard done >= total || seconds - (shownAt ?? -1) >= Self.pauseSeconds else { return }
        shownAt = seconds
        // The escape sequence at the end clears the rest of an earlier, longer line.
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

/// The text of a progress bar: the bar, per cent, number, rate, and the time that is left at this rate.
enum ProgressText {
    /// The most characters of the bar, and the fewest on a narrow terminal.
    private static let maximumWidth = 30
    private static let minimumWidth = 5
    /// The seconds before which a rate is a guess.
    private static let firstSeconds = 0.5

    /// - Parameter width: the room on the line; nil for no limit. The bar is shortened first, then the last parts are
    ///   left out.
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
