import NamesAndTimes

/// A submission's proof, read as far as it can be without asking anyone. A class for the reason that `Submission` is
/// one.
public final class ParsedProof: Sendable, Equatable {
    /// SHA-256 of the decoded proof: the same bytes are the same proof.
    public let digest: Digest256
    public let material: Material
    public let signature: Signature
    /// The proof's own content; nil if it has none that can be read, as a bare transaction id.
    public let content: ProofContent?
    /// The reason why its signature is forged; nil if it is not, or nothing more is known.
    public let forgery: Cause?
    /// The repair of its text; nil if it was sent intact.
    public let repair: Cause?

    public enum Material: Sendable, Equatable {
        /// Standard base64, as Apple takes it.
        case receipt(String)
        case signedTransaction(String)
        case transactionID(StoreTransactionID)
    }

    /// Each has its own consequence: if Apple refuses a proven receipt Apple is in trouble, a forged one is refused
    /// here, and where it is not provable Apple is asked.
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
    /// The age from which Apple is asked about a JWS, if the app has credentials: an older JWS does not show a later
    /// refund. An hour.
    public static let freshMilliseconds: Int64 = 3_600_000
    /// The most purchases of a proven receipt that is looked up in the ledger by them.
    public static let maximumRecalledPurchases = 500

    /// The evidence of a proof that is enough by itself: judged as if Apple had given it. Nil where Apple has to be
    /// asked.
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

    /// The question to Apple if the proof is not enough by itself. Nil where that takes credentials that the app lacks.
    public func question(for app: AppPolicy) -> VerificationRequest.Subject? {
        switch material {
        case .receipt(let text): return .receipt(text, sharedSecretSetting: app.sharedSecretSetting)
        case .signedTransaction:
            guard let credentials = app.serverAPI, let purchase = content?.purchases.first else { return nil }
            return .transaction(purchase.transactionID, credentials)
        case .transactionID(let id): return app.serverAPI.map { .transaction(id, $0) }
        }
    }

    /// The evidence that decides without Apple if the ledger has all of its purchases. Nil where Apple may know of
    /// more: new periods of a subscription appear behind the same bytes.
    public var recallableEvidence: GenuineReceipt? {
        guard case .receipt = material, let evidence, !evidence.holdsAutoRenewable,
            (1...Self.maximumRecalledPurchases).contains(evidence.purchases.count)
        else { return nil }
        return evidence
    }

    /// Whether it is recalled by its own purchases wherever Apple's answer would be, and says as much: then the answer
    /// need not be kept. A receipt names no account, for one: an answer that does is worth keeping.
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

    /// Whether Apple signed it for this app.
    public func isProven(of bundleID: BundleID) -> Bool {
        signature == .proven && content?.bundleID == bundleID
    }

    /// The evidence in a proven proof; nil if it lacks something.
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
