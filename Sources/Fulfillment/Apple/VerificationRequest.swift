/// The seam to Apple: one try for one proof.
public protocol ReceiptVerifier: Sendable {
    /// Asks Apple once: at most one request and one more in the other environment. Never throws: an outage is a value.
    func verify(_ request: VerificationRequest) async -> AppleAnswer
}

public struct VerificationRequest: Sendable {
    public enum Subject: Sendable, Hashable {
        /// verifyReceipt: standard base64 as Apple takes it, and the setting that holds the app's shared secret.
        case receipt(String, sharedSecretSetting: String?)
        /// The App Store Server API.
        case transaction(StoreTransactionID, ServerAPICredentials)
    }

    public let bundleID: BundleID
    public let subject: Subject
    /// The digest of the submitted proof, if it is known.
    public var proof: Digest256?
    /// The sender: a single player's proofs prove nothing about Apple or our settings.
    public var playerID: PlayerID?
    /// The proof's signature is Apple's, and it is this app's.
    public var isProven = false
    /// The receipt says that it holds a subscription, or says nothing of it: Apple looks at the secret.
    public var holdsAutoRenewable = true
    /// The submission was asked about before, in vain, or waited in PostgreSQL: fresh ones go first.
    public var isRetry = false
    /// The submission was taken out of PostgreSQL under a lease, which ends while Apple is down.
    public var isLeased = false
    /// Called at the beginning (true) and end of a wait in front of Apple: such work can be given up at once.
    public var waiting: (@Sendable (Bool) -> Void)?
    /// Called with each request that was sent, as it ends.
    public var ended: (@Sendable (AppleTry) -> Void)?

    public init(bundleID: BundleID, subject: Subject) {
        self.bundleID = bundleID
        self.subject = subject
    }

    public init(bundleID: BundleID, receipt: String, sharedSecretSetting: String?) {
        self.init(bundleID: bundleID, subject: .receipt(receipt, sharedSecretSetting: sharedSecretSetting))
    }

    /// Tells one proof from another within this process. From the digest where there is one: a receipt is several kilobytes, and each
    /// try would hash all of it.
    public var proofHash: Int { proof?.hashValue ?? subject.hashValue }

    /// Nil where a transaction is asked for.
    public var receipt: String? {
        if case .receipt(let receipt, _) = subject { receipt } else { nil }
    }
}
