/// How a submission came to its decision: kept beside the decision, for people.
public struct DecisionTrace: Sendable, Equatable {
    public enum Source: String, Sendable, CaseIterable {
        /// Apple was asked.
        case apple
        /// The proof was enough by itself.
        case proof
        /// All purchases behind the proof stood in the ledger.
        case ledger
    }

    public let signature: ParsedProof.Signature
    public let source: Source
    /// Oldest first.
    public let tries: [AppleTry]

    public init(signature: ParsedProof.Signature, source: Source, tries: [AppleTry]) {
        self.signature = signature
        self.source = source
        self.tries = tries
    }
}
