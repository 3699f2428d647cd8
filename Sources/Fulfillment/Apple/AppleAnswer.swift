import NamesAndTimes

/// The result of one try to get Apple's answer. An outage and wrong credentials are values too, but never lead to a
/// verdict.
public enum AppleAnswer: Sendable, Equatable {
    /// Apple vouches for the purchases. The case is boxed, because thousands of tries may wait, and each try reserves
    /// memory for an answer.
    indirect case genuine(GenuineReceipt)
    case refused(Refusal)
    /// Apple is down or slow, limits requests, or gave an answer that receiptd cannot read. The worker asks again.
    case trouble(Trouble)
    /// An operator must mend the settings. This app's submissions wait; other apps' submissions go on.
    case blocked(Blockage)

    public enum Refusal: String, Sendable {
        /// Status 21002: the receipt is malformed, or Apple has a passing fault.
        case malformed
        /// Status 21003.
        case unauthentic
        /// Status 0 without a receipt: Apple shows no purchase.
        case nothingTold
        /// Status 21006 without a receipt: the subscription of the proof is over.
        case expired
        /// Status 21010.
        case accountNotFound
        /// A status of 21100–21199 that Apple flags as not retryable.
        case refusedForGood
        /// Apple signed the answer, but receiptd cannot read the answer's ids or product.
        case unreadable
        /// Error 4040010 from both environments. Apple may not know the transaction yet.
        case unknownTransaction
        /// Error 4000006 (no transaction can have the id), or error 4000048 (the id is an app transaction's).
        case invalidTransaction
    }

    public struct Trouble: Sendable, Equatable {
        public let kind: TroubleKind
        /// The end of the pause that Apple asks for (`Retry-After`); nil if Apple asks for none.
        public let retryNotBefore: Timestamp?
        /// False if receiptd sent no request. The trouble then says nothing about the proof.
        public let wasAsked: Bool

        public init(_ kind: TroubleKind, retryNotBefore: Timestamp? = nil, wasAsked: Bool = true) {
            self.kind = kind
            self.retryNotBefore = retryNotBefore
            self.wasAsked = wasAsked
        }
    }

    /// The kind of trouble. Raw values are labels of `receiptd_apple_requests_total{result}`. Operators also see these
    /// labels with parked submissions.
    public enum TroubleKind: String, Sendable, CaseIterable {
        case timeout
        case connection
        case rateLimited = "rate_limited"
        case serverError = "server_error"
        case notJSON = "not_json"
        case status
        case environmentLoop = "environment_loop"
        case incomplete
        /// Status 21000, 21004 or 401 about an unproven proof. Apple does not accept the proof with our credentials.
        case credentials
        /// A signed part of Apple's answer is not proven by our root certificates, or is about another transaction.
        case unproven
        /// Apple's answer lacks a purchase that Apple itself signed in the proof. No single request has this result, so
        /// the label never has this value.
        case emptyAnswer = "empty_answer"
        /// The account's history has more pages than receiptd reads for one submission. The label never has this value.
        case longHistory = "long_history"
    }

    public enum Blockage: String, Sendable {
        /// Status 21004, or the secret's setting is empty.
        case sharedSecret = "shared_secret"
        /// Status 21000: Apple does not accept our request.
        case request
        /// The proof needs App Store Server API credentials, which the app does not have.
        case noServerAPI = "no_server_api"
        /// The App Store Server API answered 401, or the private key is missing or unusable.
        case serverAPI = "server_api"
    }
}
