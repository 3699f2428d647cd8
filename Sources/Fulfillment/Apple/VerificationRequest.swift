/// Asks Apple about proofs. Each call is one try with one proof.
public protocol ReceiptVerifier: Sendable {
    /// Sends one request to Apple, and at most one more to the other environment. Never throws: an outage is a value.
    func verify(_ request: VerificationRequest) async -> AppleAnswer
}

public struct VerificationRequest: Sendable {
    public enum Subject: Sendable, Hashable {
        /// A receipt for verifyReceipt, in standard base64. `sharedSecretSetting` is the name of the setting with the
        /// app's shared secret; nil if the catalog names none.
        case receipt(String, sharedSecretSetting: String?)
        /// A transaction for the App Store Server API.
        case transaction(StoreTransactionID, ServerAPICredentials)
    }

    public let bundleID: BundleID
    public let subject: Subject
    /// The digest of the submitted proof; nil if unknown.
    public var proof: Digest256?
    /// The player of the submission; nil if unknown. Failures of one player's proofs never count as an outage of Apple.
    public var playerID: PlayerID?
    /// True if Apple signed the proof for this app.
    public var isProven = false
    /// True if the receipt has a subscription, or may have one. Apple then checks the shared secret.
    public var holdsAutoRenewable = true
    /// True if an earlier try of the submission had no verdict, or if the submission was parked. Fresh submissions go
    /// first.
    public var isRetry = false
    /// True if the submission is a leased row of PostgreSQL. Then the request does not wait long for its turn, because
    /// a worker can lease the row again later.
    public var isLeased = false
    /// A function that receiptd calls with true when the request begins to wait for its turn, and with false when the
    /// wait ends. While the request waits, the worker can abandon it at once.
    public var waiting: (@Sendable (Bool) -> Void)?
    /// A function that receiptd calls at the end of each sent request.
    public var ended: (@Sendable (AppleTry) -> Void)?

    public init(bundleID: BundleID, subject: Subject) {
        self.bundleID = bundleID
        self.subject = subject
    }

    public init(bundleID: BundleID, receipt: String, sharedSecretSetting: String?) {
        self.init(bundleID: bundleID, subject: .receipt(receipt, sharedSecretSetting: sharedSecretSetting))
    }

    /// The hash of the proof within this process: the digest's hash if the digest is known. To hash several kilobytes
    /// of receipt at each try would be slow.
    public var proofHash: Int { proof?.hashValue ?? subject.hashValue }

    /// The receipt in base64; nil if the request is about a transaction.
    public var receipt: String? {
        if case .receipt(let receipt, _) = subject { receipt } else { nil }
    }
}
