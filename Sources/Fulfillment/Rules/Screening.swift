import NamesAndTimes

/// The decision on a submission before Apple or the ledger is asked. It gives the contract's local reasons, in their
/// order.
public enum Screening: Sendable, Equatable {
    /// The submission is refused without a request and without a table. `proof` is the digest of the decoded proof, nil
    /// if it cannot be decoded.
    case rejected(Refusal, proof: Digest256?)
    /// The submission goes on. The proof decides it if that is enough by itself, else Apple's answer does.
    case admitted(ParsedProof)
    /// The proof needs credentials that the app lacks. The submission waits for the operator.
    case blocked(AppleAnswer.Blockage, ParsedProof)

    /// - Parameter now: decides whether a signed transaction is still fresh enough to be believed without Apple.
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

    /// Returns the proof of a receipt that receiptd refused by its own reading, for Apple to decide; nil if Apple
    /// cannot say otherwise, or if the proof lacks the form of a receipt.
    public static func disputable(_ submission: Submission, refusedFor reason: Reason) -> ParsedProof? {
        switch reason {
        case .malformedReceipt, .unauthenticReceipt: DecodedProof(submission.proof)?.doubted()
        default: nil
        }
    }

    /// Parses the proof. Most submissions carry other apps' receipts. Their signatures change nothing, and are not
    /// checked.
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

    /// Returns the refusal of a proof that names another app, is forged, or names the sandbox; nil if there is none.
    /// The app and the sandbox count whatever the signature is worth, because no sender gains by such a lie.
    private static func refusal(of proof: ParsedProof, _ terms: AppTerms, player: PlayerID) -> Refusal? {
        let content = proof.content
        if let content, let cause = terms.app.foreignness(of: content) { return Refusal(.foreignApp, cause) }
        if proof.signature == .forged { return Refusal(.unauthenticReceipt, proof.forgery) }
        if content?.environment == .sandbox, !terms.app.sandbox.admits(player) { return Refusal(.sandboxNotAllowed) }
        return nil
    }
}

extension ParsedProof {
    /// Throws if an envelope names another store, or a transaction that the proof lacks.
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

    /// Returns the cause if Apple's answer is about another app; nil if it is about this app.
    public func foreignness(of receipt: GenuineReceipt) -> Cause? {
        foreignness(of: receipt.bundleID, receipt.appAppleID, in: receipt.environment)
    }

    func isForeign(_ told: BundleID?, _ toldAppleID: Int64?, in environment: StoreEnvironment?) -> Bool {
        foreignness(of: told, toldAppleID, in: environment) != nil
    }

    /// Returns the cause if the values name another app; nil if they do not. An absent value names no other app.
    /// Apple's number of the app counts in Production only, and if it is not 0.
    private func foreignness(
        of told: BundleID?, _ toldAppleID: Int64?, in environment: StoreEnvironment?
    ) -> Cause? {
        if let told, told != bundleID { return .otherBundle }
        guard environment == .production, let ours = appAppleID, let toldAppleID, toldAppleID != 0 else { return nil }
        return toldAppleID == ours ? nil : .otherApp
    }
}
