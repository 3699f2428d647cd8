import Foundation

/// Reads the width and the colors of the terminal to which a stream goes.
package enum Terminal {
    /// Returns the number of characters in a line, from `COLUMNS` or from the terminal. Nil if the stream goes to a
    /// file or a pipe, where lines are not cut.
    package static func width(of descriptor: Int32) -> Int? {
        guard isatty(descriptor) == 1 else { return nil }
        if let told = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), told > 0 { return told }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// The width of standard output; nil if standard output is no terminal.
    package static var outputWidth: Int? { width(of: STDOUT_FILENO) }

    /// True if standard output is a terminal that shows colors, and `NO_COLOR` is not set.
    package static var outputHasColors: Bool {
        let environment = ProcessInfo.processInfo.environment
        let isUnwanted = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        return isatty(STDOUT_FILENO) == 1 && !isUnwanted
    }
}

extension String {
    /// Returns at most `width` characters. A text that was cut ends in an ellipsis.
    func cut(to width: Int) -> String {
        count <= width ? self : String(prefix(max(0, width - 1))) + "…"
    }
}
