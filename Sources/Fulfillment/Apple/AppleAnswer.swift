/// What one try at Apple gave. Trouble and wrong credentials are values too: neither is ever a verdict.
public enum AppleAnswer: Sendable, Equatable {
    case genuine(GenuineReceipt)
    case refused(Refusal)
    /// Apple is down, slow, limiting or incomprehensible: to be asked again.
    case trouble(Trouble)
    /// The operator's to mend: this app's submissions wait, other apps go on.
    case blocked(Blockage)

    public enum Refusal: String, Sendable {
        /// 21002: malformed, or a passing fault on Apple's side.
        case malformed
        /// 21003.
        case unauthentic
        /// 21010.
        case accountNotFound
        /// A 21100–21199 flagged as not retryable.
        case refusedForGood
    }

    public struct Trouble: Sendable, Equatable {
        public let kind: TroubleKind
        /// When Apple asks to be left alone until then.
        public let retryNotBefore: Timestamp?

        public init(_ kind: TroubleKind, retryNotBefore: Timestamp? = nil) {
            self.kind = kind
            self.retryNotBefore = retryNotBefore
        }
    }

    /// Label values of `receiptd_apple_requests_total{result}`.
    public enum TroubleKind: String, Sendable, CaseIterable {
        case timeout
        case connection
        case rateLimited = "rate_limited"
        case serverError = "server_error"
        case notJSON = "not_json"
        case status
        case environmentLoop = "environment_loop"
        case incomplete
    }

    public enum Blockage: String, Sendable {
        /// 21004, or a secret that is set nowhere.
        case sharedSecret = "shared_secret"
        /// 21000: Apple does not take our request.
        case request
        /// This proof needs App Store Server API credentials that the app does not have.
        case noServerAPI = "no_server_api"
    }
}

/// The seam to Apple: one try for one receipt.
public protocol ReceiptVerifier: Sendable {
    /// Asks Apple once: at most one request and one more in the other environment. Never throws: an outage is a value.
    func verify(_ request: VerificationRequest) async -> AppleAnswer
}

public struct VerificationRequest: Sendable {
    public let bundleID: BundleID
    /// Standard base64 as Apple takes it.
    public let receipt: String
    public let sharedSecretSetting: String?
    /// Who sent it: a single player's receipts prove nothing about Apple or our settings.
    public var playerID: PlayerID?
    /// Its signature is Apple's, and it is this app's.
    public var isProven = false
    /// It was asked about before, in vain.
    public var isRetry = false
    /// Told of a wait in front of Apple, as it begins (true) and ends: such work can be given up at once.
    public var waiting: (@Sendable (Bool) -> Void)?
    /// Told of each request that was sent, as it ends.
    public var ended: (@Sendable (AppleTry) -> Void)?

    public init(bundleID: BundleID, receipt: String, sharedSecretSetting: String?) {
        self.bundleID = bundleID
        self.receipt = receipt
        self.sharedSecretSetting = sharedSecretSetting
    }
}
