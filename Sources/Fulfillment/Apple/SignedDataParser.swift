/// Proves the parts that Apple signs separately, in answers and in notifications. The parser sends no request and reads
/// no clock. Any thread may call it.
public protocol SignedDataParser: Sendable {
    /// Proves and reads `signedTransactionInfo` or another signed transaction.
    func parse(transactionInfo jws: String) -> SignedReading<NotifiedTransaction>
    /// Proves and reads `signedRenewalInfo`.
    func parse(renewalInfo jws: String) -> SignedReading<RenewalInfo>
}

public enum SignedReading<Value: Sendable>: Sendable {
    case proven(Value)
    /// The signature is of a kind that receiptd cannot judge. The text says why, and holds none of the content.
    case notProvable(String)
    /// Apple did not sign the data, or it is of another kind. The text says why, and holds none of the content.
    case unusable(String)
    /// Apple signed the data, but receiptd cannot read a field that identifies its subject. The text names the field,
    /// and holds none of the content.
    case unreadable(String)

    /// The value; nil if the signature is not proven, or the value cannot be read.
    public var proven: Value? {
        if case .proven(let value) = self { value } else { nil }
    }
}

extension SignedReading: Equatable where Value: Equatable {}
