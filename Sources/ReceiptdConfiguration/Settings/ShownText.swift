/// Makes text from outside safe for messages: on one line, with a limited length, and in quotes if wanted.
package enum ShownText {
    /// The most Unicode scalars. An ellipsis replaces further scalars.
    package static let maximumLength = 80

    package static func quoted(_ text: String) -> String { "\"\(plain(text))\"" }

    /// - Parameter limit: the most Unicode scalars.
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
