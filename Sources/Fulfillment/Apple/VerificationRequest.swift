/// Asks Apple about proofs, one try for one proof.
public protocol ReceiptVerifier: Sendable {
    /// Asks Apple once: at most one request and one more in the other environment. Never throws: an outage is a value.
    func verify(_ request: VerificationRequest) async -> AppleAnswer
}

public struct VerificationRequest: Sendable {
    public enum Subject: Sendable, Hashable {
        /// The request is for verifyReceipt: standard base64 as Apple takes it, and the name of the setting that holds
        /// the app's shared secret.
        case receipt(String, sharedSecretSetting: String?)
        /// The request is for the App Store Server API.
        case transaction(StoreTransactionID, ServerAPICredentials)
    }

    public let bundleID: BundleID
    public let subject: Subject
    /// The digest of the submitted proof, if it is known.
    public var proof: Digest256?
    /// The sender. One player's proofs alone show nothing about Apple or our settings.
    public var playerID: PlayerID?
    /// True if Apple signed the proof for this app.
    public var isProven = false
    /// True if the receipt has a subscription, or does not say. Then Apple checks the secret.
    public var holdsAutoRenewable = true
    /// True if the submission was tried before in vain, or waited in PostgreSQL. Fresh submissions go first.
    public var isRetry = false
    /// True if the submission was leased from PostgreSQL. The lease ends while Apple is down.
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

    /// Distinguishes one proof from another within this process. It uses the digest if there is one, because hashing a
    /// receipt of several kilobytes at each try is dear.
    public var proofHash: Int { proof?.hashValue ?? subject.hashValue }

    /// The receipt in base64; nil if the request is about a transaction.
    public var receipt: String? {
        if case .receipt(let receipt, _) = subject { receipt } else { nil }
    }
}
