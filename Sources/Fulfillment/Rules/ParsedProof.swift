import NamesAndTimes

/// A submission's proof, as far as receiptd can read it without Apple. The type is a class for the same reason as
/// `Submission`.
public final class ParsedProof: Sendable, Equatable {
    /// The SHA-256 of the decoded proof. Two proofs with equal digests are the same proof.
    public let digest: Digest256
    public let material: Material
    public let signature: Signature
    /// The content of the proof; nil for a bare transaction id, or if receiptd can read no content.
    public let content: ProofContent?
    /// The cause that says why the signature is forged; nil if the signature is not forged, or if receiptd knows no
    /// specific cause.
    public let forgery: Cause?
    /// The cause that says how receiptd repaired the proof's text; nil if the text needed no repair.
    public let repair: Cause?

    public enum Material: Sendable, Equatable {
        /// The receipt in standard base64, as Apple takes it.
        case receipt(String)
        case signedTransaction(String)
        case transactionID(StoreTransactionID)
    }

    /// The result of checking the signature. receiptd rejects a forged proof without Apple, and asks Apple about a
    /// proof that is not provable. If Apple refuses a proven receipt, the failure is Apple's.
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
    /// The age in milliseconds up to which receiptd believes a JWS without asking Apple: one hour. A JWS does not show
    /// a later refund. The limit does not apply if the app has no credentials, or if its `verification` is `local`.
    public static let freshMilliseconds: Int64 = 3_600_000
    /// If a proven receipt lists more purchases, the worker asks Apple, even if the ledger has all of them.
    public static let maximumRecalledPurchases = 500

    /// Returns the proof's evidence if the evidence is enough without Apple's answer; nil if the worker must ask Apple.
    /// - Parameter now: the time at which a JWS must be fresh; nil if the worker asks Apple about a fresh JWS too.
    public func sufficientEvidence(for app: AppPolicy, now: Timestamp?) -> GenuineReceipt? {
        guard let evidence, !evidence.purchases.isEmpty else { return nil }
        switch material {
        case .receipt: return app.verification == .local ? evidence : nil
        case .signedTransaction:
            guard app.serverAPI != nil else { return evidence }
            // A fact that receiptd cannot read may be readable in Apple's answer.
            guard evidence.isReadable else { return nil }
            return app.verification == .local || now.map(isFresh) ?? false ? evidence : nil
        case .transactionID: return nil
        }
    }

    /// Returns the question to Apple about the proof. Returns nil if the app lacks the credentials for the question, or
    /// if a signed transaction has no readable id.
    public func question(for app: AppPolicy) -> VerificationRequest.Subject? {
        switch material {
        case .receipt(let text): return .receipt(text, sharedSecretSetting: app.sharedSecretSetting)
        case .signedTransaction:
            guard let credentials = app.serverAPI, let purchase = content?.purchases.first else { return nil }
            return .transaction(purchase.transactionID, credentials)
        case .transactionID(let id): return app.serverAPI.map { .transaction(id, $0) }
        }
    }

    /// The evidence of a proven receipt. If the ledger has all its purchases, the worker decides without Apple. Nil if
    /// Apple may know more purchases: a subscription's receipt stays the same while Apple's answer gains periods.
    public var recallableEvidence: GenuineReceipt? {
        guard case .receipt = material, let evidence, !evidence.holdsAutoRenewable,
            (1...Self.maximumRecalledPurchases).contains(evidence.purchases.count)
        else { return nil }
        return evidence
    }

    /// Returns whether this proof's own purchases have all facts of `answer`, so that the ledger need not keep
    /// `answer`. A receipt names no Apple account. So the ledger keeps an answer that names an account.
    public func recalls(_ answer: GenuineReceipt) -> Bool {
        guard let own = recallableEvidence, own.environment == answer.environment,
            own.purchases.count == answer.purchases.count, !answer.holdsAutoRenewable, !answer.isExpiredSubscription
        else { return false }
        let purchases = Dictionary(
            own.purchases.map { ($0.transactionID, $0) }, uniquingKeysWith: { first, _ in first })
        return answer.purchases.allSatisfy { told in
            guard var known = purchases[told.transactionID] else { return false }
            // The purchase times in a receipt are whole seconds.
            known.purchasedAt = told.purchasedAt
            return known == told
        }
    }

    /// The receipt in base64; nil for any other proof.
    public var receipt: String? {
        if case .receipt(let text) = material { text } else { nil }
    }

    /// Returns whether Apple signed the proof for this app.
    public func isProven(of bundleID: BundleID) -> Bool {
        signature == .proven && content?.bundleID == bundleID
    }

    /// The evidence in a proven proof; nil if the proof is not proven, or lacks a part that evidence needs.
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
