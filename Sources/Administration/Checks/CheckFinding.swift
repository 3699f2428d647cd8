/// The result of a check of `receiptd check` that found no fault.
package struct CheckFinding: Sendable, Equatable {
    package let text: String
    /// True if an operator should look at the part, although it works.
    package let isWarning: Bool

    package init(_ text: String, isWarning: Bool = false) {
        self.text = text
        self.isWarning = isWarning
    }
}
