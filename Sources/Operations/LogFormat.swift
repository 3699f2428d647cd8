import Logging
import NamesAndTimes

/// The form of log lines, from the setting `LOG_FORMAT`.
public enum LogFormat: String, CaseIterable, Sendable {
    /// One JSON object in each line: `ts`, `level`, `logger`, `msg`, then the metadata.
    case json
    /// Text for people: time, level, logger, message, `key=value`.
    case text
}

struct LogLine {
    /// The time of the line, in milliseconds since 1970.
    var time: Int64
    var level: Logger.Level
    var label: String
    var message: String
    var metadata: Logger.Metadata

    /// Returns the line with its newline. Escapes characters that would end the line early or control a terminal.
    func rendered(_ format: LogFormat) -> [UInt8] {
        var text = LogText()
        switch format {
        case .json: renderJSON(to: &text)
        case .text: renderText(to: &text)
        }
        text.raw("\n")
        return text.bytes
    }

    private func renderJSON(to text: inout LogText) {
        text.raw("{\"ts\":\"")
        text.raw(Timestamp(milliseconds: time).rfc3339)
        text.raw("\",\"level\":\"")
        text.raw(level.rawValue)
        text.raw("\",\"logger\":")
        text.quoted(label)
        text.raw(",\"msg\":")
        text.quoted(message)
        for (key, value) in flattened() {
            text.raw(",")
            // The prefix keeps the keys apart, because JSON readers disagree about an object that has a key twice.
            text.quoted(["ts", "level", "logger", "msg"].contains(key) ? "metadata." + key : key)
            text.raw(":")
            text.json(value)
        }
        text.raw("}")
    }

    private func renderText(to text: inout LogText) {
        text.raw(Timestamp(milliseconds: time).rfc3339)
        text.raw(" " + level.rawValue.padded(to: 8) + " [")
        text.escaped(label, quotes: false)
        text.raw("] ")
        text.escaped(message, quotes: false)
        for (key, value) in flattened() {
            text.raw(" ")
            text.word(key)
            text.raw("=")
            text.word("\(value)")
        }
    }

    /// Returns the metadata sorted by key. The entries of a dictionary have keys such as `key.inner`.
    private func flattened() -> [(String, Logger.MetadataValue)] {
        var result: [(String, Logger.MetadataValue)] = []
        func add(_ key: String, _ value: Logger.MetadataValue, depth: Int) {
            // The limit of the depth keeps the stack small.
            guard case .dictionary(let inner) = value, depth < 8 else { return result.append((key, value)) }
            for (innerKey, innerValue) in inner { add(key + "." + innerKey, innerValue, depth: depth + 1) }
        }
        for (key, value) in metadata { add(key, value, depth: 0) }
        return result.sorted { $0.0 < $1.0 }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - utf8.count))
    }
}
