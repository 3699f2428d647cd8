/// Proves and reads the separately signed parts of Apple's answers and notifications. The parser sends no request and
/// reads no clock. Any thread may call it.
public protocol SignedDataParser: Sendable {
    /// Proves and reads a signed transaction, such as `signedTransactionInfo`.
    func parse(transactionInfo jws: String) -> SignedReading<NotifiedTransaction>
    /// Proves and reads `signedRenewalInfo`.
    func parse(renewalInfo jws: String) -> SignedReading<RenewalInfo>
}

public enum SignedReading<Value: Sendable>: Sendable {
    case proven(Value)
    /// receiptd cannot judge a signature of this kind. The text gives the reason, without any of the content.
    case notProvable(String)
    /// Apple did not sign the data, or the data is of another kind. The text gives the reason, without any of the
    /// content.
    case unusable(String)
    /// Apple signed the data, but receiptd cannot read a field that identifies its subject. The text names the field,
    /// without any of the content.
    case unreadable(String)

    /// The value; nil if the signature is not proven, or if receiptd cannot read the value.
    public var proven: Value? {
        if case .proven(let value) = self { value } else { nil }
    }
}

extension SignedReading: Equatable where Value: Equatable {}
