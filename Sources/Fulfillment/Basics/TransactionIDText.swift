import NamesAndTimes

/// The form of Apple's transaction ids: decimal digits without a leading zero. receiptd compares ids as bytes. A second
/// way to write the same number would be a second transaction, and its purchase would be granted twice.
///
/// receiptd checks every id from outside here: ids in proofs, answers, notifications, imports, commands and rows of
/// earlier releases.
public enum TransactionIDText {
    /// The rule as text that follows the field's name.
    public static let requirement = "1 to \(SubmissionLimits.maximumTransactionIDDigits) digits without a leading zero"

    /// Returns the id; nil if the text does not have that form.
    public static func read(_ text: String) -> StoreTransactionID? { isSound(text) ? StoreTransactionID(text) : nil }

    public static func isSound(_ text: String) -> Bool {
        let digits = text.utf8
        guard !digits.isEmpty, digits.count <= SubmissionLimits.maximumTransactionIDDigits,
            digits.first != UInt8(ascii: "0")
        else { return false }
        return digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
