import Timestamps

/// What can be said of a submission before anyone is asked: section 4's local reasons, in their order.
public enum Screening: Sendable, Equatable {
    /// Decided here and now. It costs no request and touches no table.
    /// `proof` is the digest of the decoded proof, nil where it cannot be decoded.
    case rejected(Reason, proof: Digest256?)
    /// For the ledger to settle: by the proof where that is enough by itself, else by what Apple says of it.
    case admitted(ParsedProof)
    /// The proof needs credentials that the app does not have: it waits for the operator.
    case blocked(AppleAnswer.Blockage, ParsedProof)

    /// - Parameter now: decides whether a signed transaction is still fresh enough to be believed without Apple.
    public static func screen(
        _ submission: Submission, catalog: Catalog, parser: any ProofParser, now: Timestamp
    ) -> Screening {
        let decoded = DecodedProof(submission.proof)
        guard let terms = catalog.terms[submission.bundleID] else {
            return .rejected(.unknownApp, proof: decoded?.digest)
        }
        // Most of the traffic is other apps' receipts, whose signatures change nothing.
        guard let proof = decoded?.parsed(by: parser, provingWhere: { !terms.app.isForeign($0) }) else {
            if terms.app.announcements.asksBeforeRefusing, let doubted = decoded?.doubted() {
                return .admitted(doubted)
            }
            return .rejected(.malformedReceipt, proof: decoded?.digest)
        }
        if let reason = reason(against: proof, terms, player: submission.playerID) {
            guard reason == .unauthenticReceipt, terms.app.announcements.asksBeforeRefusing,
                let doubted = decoded?.doubted(proof.content)
            else { return .rejected(reason, proof: proof.digest) }
            if let other = self.reason(against: doubted, terms, player: submission.playerID) {
                return .rejected(other, proof: proof.digest)
            }
            return .admitted(doubted)
        }
        switch proof.material {
        case .receipt: return .admitted(proof)
        case .signedTransaction, .transactionID:
            let isEnough = proof.sufficientEvidence(for: terms.app, now: now) != nil
            return isEnough || terms.app.serverAPI != nil ? .admitted(proof) : .blocked(.noServerAPI, proof)
        }
    }

    /// The proof of a receipt that is refused here by our reading of it, as one of which Apple has the say. Nil where
    /// Apple cannot say otherwise, or would only read junk.
    public static func disputable(_ submission: Submission, refusedFor reason: Reason) -> ParsedProof? {
        switch reason {
        case .malformedReceipt, .unauthenticReceipt: DecodedProof(submission.proof)?.doubted()
        default: nil
        }
    }

    /// What the proof says against itself counts whatever its signature is worth: no sender gains by a lie about the
    /// app or the sandbox. What it says in its own favour is never looked at here.
    private static func reason(against proof: ParsedProof, _ terms: AppTerms, player: PlayerID) -> Reason? {
        let content = proof.content
        if let content, terms.app.isForeign(content) { return .foreignApp }
        if proof.signature == .forged { return .unauthenticReceipt }
        if content?.environment == .sandbox, !terms.app.sandbox.admits(player) { return .sandboxNotAllowed }
        return nil
    }
}

extension AppPolicy {
    fileprivate func isForeign(_ content: ProofContent) -> Bool {
        isForeign(content.bundleID, content.appAppleID, in: content.environment)
    }

    /// Whether what is told of the app is another one's. What is not told is not another's; Apple's number of the app
    /// counts in Production only, and where it is not 0.
    func isForeign(_ told: BundleID?, _ toldAppleID: Int64?, in environment: StoreEnvironment?) -> Bool {
        if let told, told != bundleID { return true }
        guard environment == .production, let ours = appAppleID, let toldAppleID, toldAppleID != 0 else { return false }
        return toldAppleID != ours
    }
}
