/// Text for HTML, and nothing of it is markup.
package enum HTMLText {
    /// The same with what cannot be seen written out, `\u{202e}`: players choose their ids, and some characters turn the text
    /// round them. For whatever is looked at; what a form or an address carries back stays as it is, by `escaped`.
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

    /// Sound between tags and within quoted attributes.
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
            // HTML has no way to write it.
            case "\0": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
