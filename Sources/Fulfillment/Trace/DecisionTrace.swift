/// A submission's way to its decision: kept beside the decision, for people.
public struct DecisionTrace: Sendable, Equatable {
    public enum Source: String, Sendable, CaseIterable {
        /// Apple's answer decided.
        case apple
        /// The proof was enough by itself.
        case proof
        /// The ledger had all purchases of the proof.
        case ledger
        /// An operator refused it.
        case operatorsWord = "operator"
    }

    /// The state of the proof's signature; nil if nobody checked it.
    public let signature: ParsedProof.Signature?
    public let source: Source
    /// The tries, oldest first.
    public let tries: [AppleTry]
    /// The operator who refused it; nil if none did.
    public let operatorName: String?

    public init(signature: ParsedProof.Signature, source: Source, tries: [AppleTry]) {
        self.signature = signature
        self.source = source
        self.tries = tries
        operatorName = nil
    }

    /// - Parameter tries: the tries before the refusal.
    public init(refusedBy operatorName: String, tries: [AppleTry]) {
        signature = nil
        source = .operatorsWord
        self.tries = tries
        self.operatorName = operatorName
    }
}
