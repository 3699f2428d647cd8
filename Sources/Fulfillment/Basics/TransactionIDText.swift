import NamesAndTimes

/// The form of Apple's transaction ids: decimal digits without a leading zero. Ids compare as bytes, so that a second
/// way to write the same number would be a second transaction, and its purchase granted twice.
///
/// Every id that comes from outside passes here, wherever it comes from: proofs, answers, notifications, imports, commands, and
/// what an earlier release stored.
public enum TransactionIDText {
    /// The rule in words that follow the field's name.
    public static let requirement = "1 to \(SubmissionLimits.maximumTransactionIDDigits) digits without a leading zero"

    /// Nil where it is not sound.
    public static func read(_ text: String) -> StoreTransactionID? { isSound(text) ? StoreTransactionID(text) : nil }

    public static func isSound(_ text: String) -> Bool {
        let digits = text.utf8
        guard !digits.isEmpty, digits.count <= SubmissionLimits.maximumTransactionIDDigits,
            digits.first != UInt8(ascii: "0")
        else { return false }
        return digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
