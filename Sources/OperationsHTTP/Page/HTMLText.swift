package enum HTMLText {
    /// Escapes text that people read, and writes invisible characters as `\u{202e}`. Players choose their ids, and some
    /// characters reverse the text around them. For a value in a form or an address use `escaped`.
    package static func shown(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnseen) else { return escaped(text) }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isUnseen(scalar) {
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return escaped(shown)
    }

    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse: true
        default: false
        }
    }

    /// Escapes text for a place between tags or in a quoted attribute.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            // HTML cannot represent NUL.
            case "\0": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
