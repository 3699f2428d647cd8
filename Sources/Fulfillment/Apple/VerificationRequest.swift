/// Asks Apple about proofs. Each call is one try with one proof.
public protocol ReceiptVerifier: Sendable {
    /// Asks Apple once: one request, and at most one more to the other environment. Never throws: an outage is a value.
    func verify(_ request: VerificationRequest) async -> AppleAnswer
}

public struct VerificationRequest: Sendable {
    public enum Subject: Sendable, Hashable {
        /// A receipt for verifyReceipt, in standard base64, and the name of the setting with the app's shared secret;
        /// nil if the catalog names none.
        case receipt(String, sharedSecretSetting: String?)
        /// A transaction for the App Store Server API.
        case transaction(StoreTransactionID, ServerAPICredentials)
    }

    public let bundleID: BundleID
    public let subject: Subject
    /// The digest of the submitted proof, if it is known.
    public var proof: Digest256?
    /// The sender; nil if unknown. Failures of one player's proofs alone never count as an outage of Apple's.
    public var playerID: PlayerID?
    /// True if Apple signed the proof for this app.
    public var isProven = false
    /// True if the receipt has a subscription, or may have one. Apple then checks the shared secret.
    public var holdsAutoRenewable = true
    /// True if the submission was tried before in vain, or waited in PostgreSQL. Fresh submissions go first.
    public var isRetry = false
    /// True if the submission was leased from PostgreSQL. Its lease may end while the request waits in front of Apple.
    public var isLeased = false
    /// Called with true when a wait in front of Apple begins and with false when it ends. A waiting request can be
    /// abandoned at once.
    public var waiting: (@Sendable (Bool) -> Void)?
    /// Called at the end of each sent request.
    public var ended: (@Sendable (AppleTry) -> Void)?

    public init(bundleID: BundleID, subject: Subject) {
        self.bundleID = bundleID
        self.subject = subject
    }

    public init(bundleID: BundleID, receipt: String, sharedSecretSetting: String?) {
        self.init(bundleID: bundleID, subject: .receipt(receipt, sharedSecretSetting: sharedSecretSetting))
    }

    /// The hash of the proof within this process. The digest's hash is preferred, because hashing a receipt of several
    /// kilobytes at each try is slow.
    public var proofHash: Int { proof?.hashValue ?? subject.hashValue }

    /// The receipt in base64; nil if the request is about a transaction.
    public var receipt: String? {
        if case .receipt(let receipt, _) = subject { receipt } else { nil }
    }
}
