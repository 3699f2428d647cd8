import Fulfillment
import NamesAndTimes
import PlantedFaults

extension AppleLimits.End {
    /// - Parameter now: the present time by the wall clock, for the seconds until `retryNotBefore`.
    init(_ answer: VerifyReceiptAnswer, now: Timestamp) {
        switch answer {
        case .otherEnvironment: self = .answered
        case .answer(.trouble(let trouble)): self.init(trouble, now: now)
        case .answer: self = .answered
        }
    }

    init(_ answer: TransactionAnswer, now: Timestamp) {
        switch answer {
        case .answer(.trouble(let trouble)): self.init(trouble, now: now)
        case .answer, .notFound: self = .answered
        }
    }

    init(_ trouble: AppleAnswer.Trouble, now: Timestamp) {
        let seconds = trouble.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 }
        switch trouble.kind {
        case .rateLimited: self = .limited(seconds: seconds)
        case .serverError, .notJSON, .timeout, .connection:
            self = seconds.map { $0 > 0 ? .limited(seconds: $0) : .failed } ?? .failed
        // A strange receipt may cause this status. So even a hundred such answers say nothing about Apple if one player
        // sent all the receipts.
        case .status: self = .doubtful
        // Apple answered, but receiptd cannot use the answer.
        case .incomplete, .environmentLoop, .unproven, .credentials, .emptyAnswer, .longHistory: self = .answered
        }
    }

    /// The end, changed if a test planted a fault.
    var orPlanted: Self {
        switch self {
        case .failed, .doubtful: PlantedFault.breakerIgnored.isPlanted ? .answered : self
        case .limited: PlantedFault.retryAfterIgnored.isPlanted ? .answered : self
        case .answered, .unknown: self
        }
    }

    /// - Parameters:
    ///   - isTelling: true if a failure shows Apple's load. A few receipts that Apple never answers must not slow down
    ///     all other receipts.
    ///   - isOfProofs: false for requests that are not about submissions' proofs. A limit that Apple sets on such
    ///     requests does not show the load from submissions.
    func outcome(isTelling: Bool, isOfProofs: Bool = true) -> AdaptiveConcurrency.Outcome {
        switch self {
        case .answered, .doubtful: .fine
        case .failed: isTelling ? .overload : .unknown
        case .limited: isOfProofs ? .overload : .unknown
        case .unknown: .unknown
        }
    }
}
