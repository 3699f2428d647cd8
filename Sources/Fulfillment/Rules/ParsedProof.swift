import NamesAndTimes

/// A submission's proof, read as far as it can be without asking anyone. A class, for the same reason as `Submission`.
public final class ParsedProof: Sendable, Equatable {
    /// SHA-256 of the decoded proof: the same bytes are the same proof.
    public let digest: Digest256
    public let material: Material
    public let signature: Signature
    /// The proof's own content; nil if it has none that can be read, as a bare transaction id.
    public let content: ProofContent?
    /// The cause of a forged signature; nil if it is not forged, or if nothing more is known.
    public let forgery: Cause?
    /// The repair of its text; nil if it was sent intact.
    public let repair: Cause?

    public enum Material: Sendable, Equatable {
        /// The receipt in standard base64, as Apple takes it.
        case receipt(String)
        case signedTransaction(String)
        case transactionID(StoreTransactionID)
    }

    /// The worth of the signature. If Apple refuses a proven receipt, Apple is in trouble. receiptd refuses a forged
    /// one, and asks Apple about one that is not provable.
    public enum Signature: Sendable {
        case proven
        case forged
        case notProvable
    }

    public init(
        digest: Digest256, material: Material, signature: Signature = .notProvable, content: ProofContent? = nil,
        forgery: Cause? = nil, repair: Cause? = nil
    ) {
        self.digest = digest
        self.material = material
        self.signature = signature
        self.content = content
        self.forgery = forgery
        self.repair = repair
    }

    public static func == (left: ParsedProof, right: ParsedProof) -> Bool {
        left.digest == right.digest && left.material == right.material && left.signature == right.signature
            && left.content == right.content && left.forgery == right.forgery && left.repair == right.repair
    }
}

extension ParsedProof {
    /// The age in milliseconds from which Apple is asked about a JWS, if the app has credentials: an hour. An older JWS
    /// does not show a later refund.
    public static let freshMilliseconds: Int64 = 3_600_000
    /// The most purchases of a proven receipt that is looked up in the ledger by its purchases.
    public static let maximumRecalledPurchases = 500

    /// Returns the evidence of a proof that is enough by itself, to be judged as if Apple had given it; nil if Apple
    /// must be asked.
    public func sufficientEvidence(for app: AppPolicy, now: Timestamp) -> GenuineReceipt? {
        guard let evidence, !evidence.purchases.isEmpty else { return nil }
        switch material {
        case .receipt: return app.verification == .local ? evidence : nil
        case .signedTransaction:
            guard app.serverAPI != nil else { return evidence }
            // Apple may name an unreadable fact.
            guard evidence.isReadable else { return nil }
            return app.verification == .local || isFresh(now) ? evidence : nil
        case .transactionID: return nil
        }
    }

    /// Returns the question to Apple for a proof that is not enough by itself; nil if the question needs credentials
    /// that the app lacks.
    public func question(for app: AppPolicy) -> VerificationRequest.Subject? {
        switch material {
        case .receipt(let text): return .receipt(text, sharedSecretSetting: app.sharedSecretSetting)
        case .signedTransaction:
            guard let credentials = app.serverAPI, let purchase = content?.purchases.first else { return nil }
            return .transaction(purchase.transactionID, credentials)
        case .transactionID(let id): return app.serverAPI.map { .transaction(id, $0) }
        }
    }

    /// The evidence that decides without Apple if the ledger has all of its purchases; nil if Apple may know of more.
    /// New periods of a subscription appear behind the same bytes.
    public var recallableEvidence: GenuineReceipt? {
        guard case .receipt = material, let evidence, !evidence.holdsAutoRenewable,
            (1...Self.maximumRecalledPurchases).contains(evidence.purchases.count)
        else { return nil }
        return evidence
    }

    /// Returns whether the ledger recalls this proof by its own purchases wherever it would recall Apple's answer, with
    /// the same facts. Then the answer need not be kept. A receipt names no account, so that an answer that names one
    /// is kept.
    public func recalls(_ answer: GenuineReceipt) -> Bool {
        guard let own = recallableEvidence, own.environment == answer.environment,
            own.purchases.count == answer.purchases.count, !answer.holdsAutoRenewable, !answer.isExpiredSubscription
        else { return false }
        let purchases = Dictionary(
            own.purchases.map { ($0.transactionID, $0) }, uniquingKeysWith: { first, _ in first })
        return answer.purchases.allSatisfy { told in
            guard var known = purchases[told.transactionID] else { return false }
            // Receipts tell whole seconds.
            known.purchasedAt = told.purchasedAt
            return known == told
        }
    }

    /// The receipt in base64; nil if it is none.
    public var receipt: String? {
        if case .receipt(let text) = material { text } else { nil }
    }

    /// Returns whether Apple signed it for this app.
    public func isProven(of bundleID: BundleID) -> Bool {
        signature == .proven && content?.bundleID == bundleID
    }

    /// The evidence in a proven proof; nil if the proof is not proven or lacks something.
    public var evidence: GenuineReceipt? {
        guard signature == .proven, var receipt = content?.asReceipt else { return nil }
        if case .receipt = material { receipt.createdAt = content?.signedAt }
        return receipt
    }

    private func isFresh(_ now: Timestamp) -> Bool {
        guard let signedAt = content?.signedAt else { return false }
        return now.milliseconds - signedAt.milliseconds <= Self.freshMilliseconds
    }
}
