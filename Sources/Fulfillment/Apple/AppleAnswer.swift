import NamesAndTimes

/// The result of one try at Apple. Trouble and wrong credentials are values too: neither is ever a verdict.
public enum AppleAnswer: Sendable, Equatable {
    /// Boxed: thousands wait for an answer at once, and each keeps room for it.
    indirect case genuine(GenuineReceipt)
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
        /// Status 0 without a receipt: it tells of no purchase.
        case nothingTold
        /// 21010.
        case accountNotFound
        /// A 21100–21199 flagged as not retryable.
        case refusedForGood
        /// Apple signed an answer whose ids or product cannot be read.
        case unreadable
        /// 4040010 from both environments: perhaps not known yet.
        case unknownTransaction
        /// 4000006: an id that no transaction can have. 4000048: an app transaction's.
        case invalidTransaction
    }

    public struct Trouble: Sendable, Equatable {
        public let kind: TroubleKind
        /// The time until which Apple asks for no requests (`Retry-After`).
        public let retryNotBefore: Timestamp?
        /// False where Apple was not asked at all: that says nothing of the proof.
        public let wasAsked: Bool

        public init(_ kind: TroubleKind, retryNotBefore: Timestamp? = nil, wasAsked: Bool = true) {
            self.kind = kind
            self.retryNotBefore = retryNotBefore
            self.wasAsked = wasAsked
        }
    }

    /// Label values of `receiptd_apple_requests_total{result}`, and what an operator reads of a parked submission.
    public enum TroubleKind: String, Sendable, CaseIterable {
        case timeout
        case connection
        case rateLimited = "rate_limited"
        case serverError = "server_error"
        case notJSON = "not_json"
        case status
        case environmentLoop = "environment_loop"
        case incomplete
        /// 21000, 21004 or 401 about a proof that is not proven here: whatever it is, Apple does not take it with our
        /// credentials.
        case credentials
        /// A part that Apple should have signed is not proven by our roots, or is about another transaction.
        case unproven
        /// Apple answered, and said nothing of what it signed itself. No request has it as its result.
        case emptyAnswer = "empty_answer"
        /// An account's history has more pages than are read for one submission. No request has it as its result.
        case longHistory = "long_history"
    }

    public enum Blockage: String, Sendable {
        /// 21004, or a secret that is set nowhere.
        case sharedSecret = "shared_secret"
        /// 21000: Apple does not take our request.
        case request
        /// This proof needs App Store Server API credentials that the app does not have.
        case noServerAPI = "no_server_api"
        /// The App Store Server API's 401, or a private key that is set nowhere or is none.
        case serverAPI = "server_api"
    }
}
