/// What may be kept of a message of PostgreSQL or libpq.
enum Redaction {
    /// The primary message of a statement's error. Those of class 22 quote the offending value, as in
    /// `invalid input syntax for type integer: "4x"` and `value "99999999999" is out of range for type integer`. Those
    /// of class 23 name tables and constraints; their values are in the DETAIL.
    static func primary(_ message: String, sqlState: String) -> String {
        guard sqlState.hasPrefix("22") else { return firstLine(message) }
        let text = firstLine(message)
        guard let first = text.firstIndex(of: "\""), let last = text.lastIndex(of: "\""), first < last else {
            return beforeColon(text)
        }
        return beforeColon(text[..<first] + "…" + text[text.index(after: last)...])
    }

    /// A message of libpq about the connection. A mistyped URI makes libpq take a part of the password for a host, a
    /// port or a database, and quote it: nothing quoted is kept.
    static func connection(_ message: String, secrets: [String]) -> String {
        var quoted = false
        var text = ""
        for character in firstLine(message) {
            if character == "\"" {
                text += quoted ? "…\"" : "\""
                quoted.toggle()
            } else if !quoted {
                text.append(character)
            }
        }
        for secret in secrets where !secret.isEmpty && text.contains(secret) {
            return "connection failed"
        }
        return text
    }

    /// A message about the connection string itself: what comes before the first thing it quotes.
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
