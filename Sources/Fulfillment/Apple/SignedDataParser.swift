/// The seam to what proves the parts that Apple signs by themselves, in its answers and in its notifications. It asks nobody
/// and reads no clock. Any thread.
public protocol SignedDataParser: Sendable {
    /// `signedTransactionInfo`, and what else is a transaction.
    func parse(transactionInfo jws: String) -> SignedReading<NotifiedTransaction>
    /// `signedRenewalInfo`.
    func parse(renewalInfo jws: String) -> SignedReading<RenewalInfo>
}

public enum SignedReading<Value: Sendable>: Sendable {
    case proven(Value)
    /// Perhaps Apple's: it is signed in a way that cannot be judged here. Says why, and holds none of its content.
    case notProvable(String)
    /// The data is not Apple's, or not of the expected kind. Says why, and holds none of its content.
    case unusable(String)
    /// Apple signed it, and what it is about cannot be read. Says which field, and holds none of its content.
    case unreadable(String)

    /// Nil where it is not proven.
    public var proven: Value? {
        if case .proven(let value) = self { value } else { nil }
    }
}

extension SignedReading: Equatable where Value: Equatable {}
