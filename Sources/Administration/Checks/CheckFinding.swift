/// A finding of `receiptd check` that fails nothing.
package struct CheckFinding: Sendable, Equatable {
    package let text: String
    /// The part works, and somebody should look at it.
    package let isWarning: Bool

    package init(_ text: String, isWarning: Bool = false) {
        self.text = text
        self.isWarning = isWarning
    }
}
