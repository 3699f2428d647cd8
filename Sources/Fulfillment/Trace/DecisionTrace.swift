/// The steps to a submission's decision. PostgreSQL keeps the steps with the decision, for people.
public struct DecisionTrace: Sendable, Equatable {
    public enum Source: String, Sendable, CaseIterable {
        /// Apple's answer decided.
        case apple
        /// The proof was enough without Apple's answer.
        case proof
        /// The ledger had all purchases of the proof.
        case ledger
        /// An operator refused the submission.
        case operatorsWord = "operator"
    }

    /// The state of the proof's signature; nil if an operator refused the submission.
    public let signature: ParsedProof.Signature?
    public let source: Source
    /// The tries, oldest first.
    public let tries: [AppleTry]
    /// The operator who refused the submission; nil if none did.
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
