import Foundation

/// Removes secrets and values from a message of PostgreSQL or libpq.
enum Redaction {
    /// Returns the primary message of a statement's error without values. Messages of class 22 quote the wrong value,
    /// for example `invalid input syntax for type integer: "4x"` or `value "99999999999" is out of range for type
    /// integer`. Messages of class 23 name only tables and constraints; their DETAIL has the values.
    static func primary(_ message: String, sqlState: String) -> String {
        guard sqlState.hasPrefix("22") else { return firstLine(message) }
        let text = firstLine(message)
        guard let first = text.firstIndex(of: "\""), let last = text.lastIndex(of: "\""), first < last else {
            return beforeColon(text)
        }
        return beforeColon(text[..<first] + "…" + text[text.index(after: last)...])
    }

    /// Returns libpq's message about the connection. If the URI is mistyped, libpq may take a part of the password for
    /// a host, a port or a database, and quote that part. So the result hides all quoted words that are not `known`.
    static func connection(_ message: String, secrets: [String], known: Set<String> = []) -> String {
        var text = ""
        for (number, part) in firstLine(message).split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            if number.isMultiple(of: 2) {
                text += part
            } else {
                text += known.contains(String(part)) ? "\"\(part)\"" : "\"…\""
            }
        }
        for secret in secrets where !secret.isEmpty && !known.contains(secret) && text.contains(secret) {
            return "connection failed"
        }
        return text
    }

    /// Returns the error text and the SQLSTATE of a failed attempt to connect, without the server's name. The message
    /// is like `connection to server at "h", port 5432 failed: FATAL:  28P01: password authentication failed for user
    /// "u"`.
    static func refusal(
        _ message: String, secrets: [String], known: Set<String>
    ) -> (sqlState: String?, message: String) {
        var text = Substring(connection(message, secrets: secrets, known: known))
        if let place = text.range(of: " failed: "), text.hasPrefix("connection to server") {
            text = text[place.upperBound...]
        }
        // The severity (`FATAL`) is in the server's language.
        let words = text.split(separator: ":", maxSplits: 2).map { trimmed($0) }
        guard words.count == 3, words[1].utf8.count == 5,
            words[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
        else { return (nil, trimmed(text)) }
        return (words[1], words[2])
    }

    /// Returns a message about the connection string itself, up to the first text that the message quotes.
    static func connectionString(_ message: String) -> String {
        var text = firstLine(message)
        for separator in ["=", "]"] {
            text.replace("\"\(separator)\"", with: separator)
        }
        let kept = text.prefix { $0 != "\"" }
        return trimmed(kept)
    }

    private static func firstLine(_ message: String) -> String {
        trimmed(message.prefix { !$0.isNewline })
    }

    private static func beforeColon(_ text: some StringProtocol) -> String {
        trimmed(text.prefix { $0 != ":" })
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var text = Substring(text)
        while let last = text.last, last.isWhitespace || last == ":" { text.removeLast() }
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        return String(text)
    }
}
