/// A result of a check that did not fail.
package struct CheckFinding: Sendable, Equatable {
    package let text: String
    /// Whether an operator should look at the part, although it works.
    package let isWarning: Bool

    package init(_ text: String, isWarning: Bool = false) {
        self.text = text
        self.isWarning = isWarning
    }
}
