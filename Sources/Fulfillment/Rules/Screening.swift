import NamesAndTimes

/// The decision on a submission before the worker asks Apple or the ledger. The reasons are the contract's local
/// reasons.
public enum Screening: Sendable, Equatable {
    /// The worker rejects the submission. `proof` is the digest of the decoded proof; nil if receiptd cannot decode the
    /// proof.
    case rejected(Refusal, proof: Digest256?)
    /// The worker goes on with the submission. The proof decides if it is enough without Apple; otherwise Apple's
    /// answer decides.
    case admitted(ParsedProof)
    /// The proof needs credentials that the app lacks. The submission waits for the operator.
    case blocked(AppleAnswer.Blockage, ParsedProof)

    /// - Parameter now: the time at which a signed transaction must be fresh if receiptd is to believe it without
    ///   Apple.
    public static func screen(
        _ submission: Submission, catalog: Catalog, parser: any ProofParser, now: Timestamp
    ) -> Screening {
        let decoded = DecodedProof(submission.proof)
        guard let terms = catalog.terms[submission.bundleID] else {
            return .rejected(Refusal(.unknownApp), proof: decoded?.digest)
        }
        let proof: ParsedProof
        do throws(DecodedProof.Malformed) {
            proof = try parsed(submission, decoded, by: parser, for: terms.app)
        } catch {
            if terms.app.announcements.asksBeforeRefusing, !error.cause.isOfEnvelope, let doubted = decoded?.doubted() {
                return .admitted(doubted)
            }
            return .rejected(Refusal(.malformedReceipt, error.cause), proof: decoded?.digest)
        }
        if let refusal = refusal(of: proof, terms, player: submission.playerID) {
            guard refusal.reason == .unauthenticReceipt, terms.app.announcements.asksBeforeRefusing,
                let doubted = decoded?.doubted(proof.content)
            else { return .rejected(refusal, proof: proof.digest) }
            if let other = self.refusal(of: doubted, terms, player: submission.playerID) {
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

    /// Returns the receipt of a locally rejected submission as a proof that Apple can judge. Returns nil if Apple
    /// cannot overrule the reason, or if the proof lacks the form of a receipt.
    public static func disputable(_ submission: Submission, refusedFor reason: Reason) -> ParsedProof? {
        switch reason {
        case .malformedReceipt, .unauthenticReceipt: DecodedProof(submission.proof)?.doubted()
        default: nil
        }
    }

    /// Parses the proof, and tries to repair a text that the parser cannot parse. Most submissions carry other apps'
    /// receipts. The parser need not check the signatures of these receipts, because receiptd rejects them anyway.
    private static func parsed(
        _ submission: Submission, _ decoded: DecodedProof?, by parser: any ProofParser, for app: AppPolicy
    ) throws(DecodedProof.Malformed) -> ParsedProof {
        var reading: Cause?
        if let decoded {
            do throws(DecodedProof.Malformed) {
                let proof = try decoded.parsed(by: parser, provingWhere: { !app.isForeign($0) })
                return try proof.checked(against: submission.envelope)
            } catch {
                guard error.cause != .envelopeMismatch else { throw error }
                reading = error.cause
            }
        }
        for repair in ProofRepair.candidates(for: submission.proof) {
            guard
                let proof = try? DecodedProof(repair.proof)?
                    .parsed(by: parser, provingWhere: { !app.isForeign($0) }, repair: repair.cause),
                proof.signature == .proven || proof.content.map(app.isForeign) ?? false
            else { continue }
            return try proof.checked(against: submission.envelope ?? repair.envelope)
        }
        if let cause = submission.envelope?.causeAgainstStore { throw DecodedProof.Malformed(cause: cause) }
        throw DecodedProof.Malformed(cause: MalformedProof.cause(of: submission.proof, reading: reading))
    }

    /// Returns the refusal of a forged proof, of another app's proof, or of a sandbox proof from a player whom the
    /// sandbox does not admit; nil for any other proof. The app and the sandbox count even if the signature is not
    /// proven, because no sender gains by a false app or sandbox.
    private static func refusal(of proof: ParsedProof, _ terms: AppTerms, player: PlayerID) -> Refusal? {
        let content = proof.content
        if let content, let cause = terms.app.foreignness(of: content) { return Refusal(.foreignApp, cause) }
        if proof.signature == .forged { return Refusal(.unauthenticReceipt, proof.forgery) }
        if content?.environment == .sandbox, !terms.app.sandbox.admits(player) { return Refusal(.sandboxNotAllowed) }
        return nil
    }
}

extension ParsedProof {
    /// Returns the proof. Throws if the envelope names another store, or a transaction that the proof lacks.
    fileprivate func checked(against envelope: UnityEnvelope?) throws(DecodedProof.Malformed) -> ParsedProof {
        if let cause = envelope?.cause(against: content?.purchases ?? []) { throw DecodedProof.Malformed(cause: cause) }
        return self
    }
}

extension AppPolicy {
    fileprivate func isForeign(_ content: ProofContent) -> Bool { foreignness(of: content) != nil }

    fileprivate func foreignness(of content: ProofContent) -> Cause? {
        foreignness(of: content.bundleID, content.appAppleID, in: content.environment)
    }

    /// Returns the cause if Apple's answer is about another app; nil if the answer is about this app.
    public func foreignness(of receipt: GenuineReceipt) -> Cause? {
        foreignness(of: receipt.bundleID, receipt.appAppleID, in: receipt.environment)
    }

    func isForeign(_ told: BundleID?, _ toldAppleID: Int64?, in environment: StoreEnvironment?) -> Bool {
        foreignness(of: told, toldAppleID, in: environment) != nil
    }

    /// Returns the cause if the values name another app; nil if they do not. An absent value names no other app.
    /// Apple's number of the app counts only in Production, and only if the number is not 0.
    private func foreignness(
        of told: BundleID?, _ toldAppleID: Int64?, in environment: StoreEnvironment?
    ) -> Cause? {
        if let told, told != bundleID { return .otherBundle }
        guard environment == .production, let ours = appAppleID, let toldAppleID, toldAppleID != 0 else { return nil }
        return toldAppleID == ours ? nil : .otherApp
    }
}
