import NamesAndTimes

/// The result of one try at Apple. Trouble and wrong credentials are values too: neither is ever a verdict.
public enum AppleAnswer: Sendable, Equatable {
    /// Boxed, because thousands of tries wait for an answer at once and each reserves room for it.
    indirect case genuine(GenuineReceipt)
    case refused(Refusal)
    /// Apple is down, slow, limiting or incomprehensible. The worker asks again.
    case trouble(Trouble)
    /// An operator must mend the settings. This app's submissions wait, other apps go on.
    case blocked(Blockage)

    public enum Refusal: String, Sendable {
        /// Status 21002: the receipt is malformed, or Apple has a passing fault.
        case malformed
        /// Status 21003.
        case unauthentic
        /// Status 0 without a receipt, which shows no purchase.
        case nothingTold
        /// Status 21006 without a receipt, which shows no purchase either: the proof's subscription is over.
        case expired
        /// Status 21010.
        case accountNotFound
        /// A status of 21100–21199 that Apple flags as not retryable.
        case refusedForGood
        /// Apple signed an answer whose ids or product cannot be read.
        case unreadable
        /// 4040010 from both environments: perhaps not known yet.
        case unknownTransaction
        /// 4000006: an id that no transaction can have. 4000048: the id of an app transaction.
        case invalidTransaction
    }

    public struct Trouble: Sendable, Equatable {
        public let kind: TroubleKind
        /// The time until which Apple asks for no requests (`Retry-After`).
        public let retryNotBefore: Timestamp?
        /// False if no request was sent. Then the answer says nothing about the proof.
        public let wasAsked: Bool

        public init(_ kind: TroubleKind, retryNotBefore: Timestamp? = nil, wasAsked: Bool = true) {
            self.kind = kind
            self.retryNotBefore = retryNotBefore
            self.wasAsked = wasAsked
        }
    }

    /// The kind of trouble: the label values of `receiptd_apple_requests_total{result}`, and what an operator reads
    /// about a parked submission.
    public enum TroubleKind: String, Sendable, CaseIterable {
        case timeout
        case connection
        case rateLimited = "rate_limited"
        case serverError = "server_error"
        case notJSON = "not_json"
        case status
        case environmentLoop = "environment_loop"
        case incomplete
        /// Status 21000, 21004 or 401 about an unproven proof. Apple does not take the proof with our credentials.
        case credentials
        /// A part that Apple should have signed is not proven by our roots, or is about another transaction.
        case unproven
        /// Apple's answer leaves out what Apple itself signed. No request has this result.
        case emptyAnswer = "empty_answer"
        /// An account's history has more pages than receiptd reads for one submission. No request has this result.
        case longHistory = "long_history"
    }

    public enum Blockage: String, Sendable {
        /// Status 21004, or a secret that is not set.
        case sharedSecret = "shared_secret"
        /// Status 21000: Apple does not take our request.
        case request
        /// This proof needs App Store Server API credentials that the app does not have.
        case noServerAPI = "no_server_api"
        /// The App Store Server API's 401, or a private key that is missing or unusable.
        case serverAPI = "server_api"
    }
}
