/// What can be said of a submission before anyone is asked: section 4's local reasons, in their order.
public enum Screening: Sendable, Equatable {
    /// Decided here and now. It costs no request and touches no table.
    case rejected(Reason)
    case ask(ParsedProof, AppPolicy)
    /// The proof needs credentials that the app does not have: it waits for the operator.
    case blocked(AppleAnswer.Blockage, ParsedProof)

    public static func screen(_ submission: Submission, catalog: Catalog) -> Screening {
        guard let app = catalog.apps[submission.bundleID] else { return .rejected(.unknownApp) }
        guard let proof = ParsedProof(submission.proof) else { return .rejected(.malformedReceipt) }
        if proof.signature == .forged { return .rejected(.unauthenticReceipt) }
        switch proof.material {
        case .receipt: return .ask(proof, app)
        case .signedTransaction, .transactionID: return .blocked(.noServerAPI, proof)
        }
    }
}
