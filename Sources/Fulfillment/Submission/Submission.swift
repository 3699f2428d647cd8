import NamesAndTimes

/// A game server's request to verify a proof for a player.
///
/// `Submission` is an immutable class, because every step passes the submission on. A copy of a struct with ten texts
/// would change ten reference counts.
public final class Submission: Sendable, Equatable {
    public let submissionID: Identifier
    public let playerID: PlayerID
    public let bundleID: BundleID
    public let proof: Proof
    /// Unity's envelope around the proof; nil if there is none.
    public let envelope: UnityEnvelope?
    /// The product that the client names. receiptd only compares this product with Apple's products.
    public let productID: ProductID?
    public let orderID: String?
    /// The account token in lower case, because UUIDs compare without case; nil if there is none.
    public let appAccountToken: String?
    public let deviceID: Identifier?
    /// The currency that the client names. This currency counts only if Apple names none.
    public let currency: String?
    public let submittedAt: Timestamp?

    public init(
        submissionID: Identifier, playerID: PlayerID, bundleID: BundleID, proof: Proof,
        envelope: UnityEnvelope? = nil, productID: ProductID? = nil, orderID: String? = nil,
        appAccountToken: String? = nil, deviceID: Identifier? = nil, currency: String? = nil,
        submittedAt: Timestamp? = nil
    ) {
        self.submissionID = submissionID
        self.playerID = playerID
        self.bundleID = bundleID
        self.proof = proof
        self.envelope = envelope
        self.productID = productID
        self.orderID = orderID
        self.appAccountToken = appAccountToken
        self.deviceID = deviceID
        self.currency = currency
        self.submittedAt = submittedAt
    }

    public static func == (left: Submission, right: Submission) -> Bool {
        left.submissionID == right.submissionID && left.playerID == right.playerID && left.bundleID == right.bundleID
            && left.proof == right.proof && left.envelope == right.envelope && left.productID == right.productID
            && left.orderID == right.orderID && left.appAccountToken == right.appAccountToken
            && left.deviceID == right.deviceID
            && left.currency == right.currency && left.submittedAt == right.submittedAt
    }

    /// The receipt in base64 as sent; nil if the proof is not a receipt.
    public var receipt: String? {
        if case .receipt(let text) = proof { text } else { nil }
    }

    /// The proof, of exactly one of three kinds.
    public enum Proof: Sendable, Equatable {
        /// Base64 of an iOS 7+ app receipt or an iOS 6 transaction receipt, as sent.
        case receipt(String)
        /// A StoreKit 2 JWS.
        case signedTransaction(String)
        /// A bare id, which proves no possession.
        case transactionID(StoreTransactionID)
    }
}

/// The limits of a submission.
public enum SubmissionLimits {
    /// The most bytes of a record's value.
    public static let maximumBytes = 1_048_576
    /// The most Unicode scalars of `submission_id`, `player_id`, `order_id` and `device_id`.
    public static let maximumNameScalars = 128
    /// The most Unicode scalars of `bundle_id`. No catalog has a longer bundle id.
    public static let maximumBundleIDScalars = 255
    /// The most digits of a `transaction_id`.
    public static let maximumTransactionIDDigits = 20
}
