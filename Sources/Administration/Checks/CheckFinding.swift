/// The result of a passed check of `receiptd check`.
package struct CheckFinding: Sendable, Equatable {
    package let text: String
    /// True if an operator should look at the checked part, although the check passed.
    package let isWarning: Bool

    package init(_ text: String, isWarning: Bool = false) {
        self.text = text
        self.isWarning = isWarning
    }
}
