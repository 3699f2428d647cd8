/// Proves the parts that Apple signs separately, in its answers and in its notifications. It sends no request and reads
/// no clock. Any thread may call it.
public protocol SignedDataParser: Sendable {
    /// Proves `signedTransactionInfo` or another signed transaction.
    func parse(transactionInfo jws: String) -> SignedReading<NotifiedTransaction>
    /// Proves `signedRenewalInfo`.
    func parse(renewalInfo jws: String) -> SignedReading<RenewalInfo>
}

public enum SignedReading<Value: Sendable>: Sendable {
    case proven(Value)
    /// The signature is of a kind that receiptd cannot judge. The text says why, and holds none of the content.
    case notProvable(String)
    /// The data is not Apple's, or not of the expected kind. The text says why, and holds none of the content.
    case unusable(String)
    /// Apple signed the data, but nobody can read what it is about. The text names the field, and holds none of the
    /// content.
    case unreadable(String)

    /// The value; nil if it is not proven or cannot be read.
    public var proven: Value? {
        if case .proven(let value) = self { value } else { nil }
    }
}

extension SignedReading: Equatable where Value: Equatable {}
