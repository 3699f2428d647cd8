import NamesAndTimes

/// The result of one try at Apple. Trouble and wrong credentials are values too, and never lead to a verdict.
public enum AppleAnswer: Sendable, Equatable {
    /// Apple vouches for the purchases. The case is boxed, because thousands of waiting tries each reserve its room.
    indirect case genuine(GenuineReceipt)
    case refused(Refusal)
    /// Apple is down or slow, limits requests, or answered incomprehensibly. The worker asks again.
    case trouble(Trouble)
    /// An operator must mend the settings. This app's submissions wait; other apps' submissions go on.
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
        /// Error 4040010 from both environments. Apple may not know the transaction yet.
        case unknownTransaction
        /// Error 4000006: no transaction can have the id. Error 4000048: it is the id of an app transaction.
        case invalidTransaction
    }

    public struct Trouble: Sendable, Equatable {
        public let kind: TroubleKind
        /// The time until which Apple asks for no requests (`Retry-After`).
        public let retryNotBefore: Timestamp?
        /// False if receiptd sent no request. The trouble then says nothing about the proof.
        public let wasAsked: Bool

        public init(_ kind: TroubleKind, retryNotBefore: Timestamp? = nil, wasAsked: Bool = true) {
            self.kind = kind
            self.retryNotBefore = retryNotBefore
            self.wasAsked = wasAsked
        }
    }

    /// The kind of trouble. Raw values are labels of `receiptd_apple_requests_total{result}`, and operators see them at
    /// parked submissions.
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
        /// Our roots do not prove Apple's signature of a part, or the part is about another transaction.
        case unproven
        /// Apple's answer lacks a purchase that Apple itself signed in the proof. No request has this result.
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
