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
    /// Of what was submitted, where its digest is known.
    public var proof: Digest256?
    /// Who sent it: a single player's proofs prove nothing about Apple or our settings.
    public var playerID: PlayerID?
    /// Its signature is Apple's, and it is this app's.
    public var isProven = false
    /// It says of itself that it holds a subscription, or says nothing of it: Apple looks at the secret.
    public var holdsAutoRenewable = true
    /// It was asked about before, in vain, or waited in PostgreSQL: what is fresh goes first.
    public var isRetry = false
    /// It was taken out of PostgreSQL under a lease, which ends while Apple is out.
    public var isLeased = false
    /// Told of a wait in front of Apple, as it begins (true) and ends: such work can be given up at once.
    public var waiting: (@Sendable (Bool) -> Void)?
    /// Told of each request that was sent, as it ends.
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
