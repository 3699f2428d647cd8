/// What a check of `receiptd check` found, where it fails nothing.
package struct CheckFinding: Sendable, Equatable {
    package let text: String
    /// It works, and somebody should look at it.
    package let isWarning: Bool

    package init(_ text: String, isWarning: Bool = false) {
        self.text = text
        self.isWarning = isWarning
    }
}
