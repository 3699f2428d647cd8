import NamesAndTimes

/// The form of Apple's transaction ids: decimal digits without a leading zero. receiptd compares ids as bytes. If an id
/// could be written in two ways, receiptd would see two transactions, and would grant the purchase twice.
///
/// receiptd checks the form of every id that it gets: in proofs, Apple's answers, notifications, imports, commands and
/// rows of earlier releases.
public enum TransactionIDText {
    /// The required form, as the end of a sentence that begins with the field's name.
    public static let requirement = "1 to \(SubmissionLimits.maximumTransactionIDDigits) digits without a leading zero"

    /// Returns the id; nil if the text does not have the required form.
    public static func read(_ text: String) -> StoreTransactionID? { isSound(text) ? StoreTransactionID(text) : nil }

    public static func isSound(_ text: String) -> Bool {
        let digits = text.utf8
        guard !digits.isEmpty, digits.count <= SubmissionLimits.maximumTransactionIDDigits,
            digits.first != UInt8(ascii: "0")
        else { return false }
        return digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
