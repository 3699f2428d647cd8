/// Text from outside as messages show it: in quotes, on one line, and not endless.
package enum ShownText {
    /// Unicode scalars; the rest becomes an ellipsis.
    package static let maximumLength = 80

    package static func quoted(_ text: String) -> String { "\"\(plain(text))\"" }

    /// - Parameter limit: Unicode scalars.
    package static func plain(_ text: String, limit: Int = maximumLength) -> String {
        var shown = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < limit else { return shown + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                if scalar == "\"" || scalar == "\\" { shown += "\\" }
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}
