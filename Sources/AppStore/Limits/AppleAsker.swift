import Fulfillment
import NamesAndTimes

/// The submission or other work that asks Apple, as the limits see it.
struct AppleAsker {
    let work: RequestKind.Work
    let isRetry: Bool
    let isProven: Bool
    /// True if the request's row is leased. The lease ends by itself, so the request does not wait for the end of an
    /// outage.
    let isLeased: Bool
    /// True if the submission has failed in no try of its own, so that it has the place in memory of a first try.
    var hasPlaceOfFirstTry: Bool { work == .submission && !isRetry && !isLeased }
    let suspect: Suspect
    /// Called with true when a wait in front of Apple begins, and with false when it ends.
    let waiting: (@Sendable (Bool) -> Void)?

    @inline(never)
    init(_ request: VerificationRequest) {
        work = .submission
        isRetry = request.isRetry
        isProven = request.isProven
        isLeased = request.isLeased
        let proof = request.proofHash
        suspect = Suspect(player: request.playerID?.hashValue ?? proof, proof: proof)
        waiting = request.waiting
    }

    /// - Parameter subject: a hash of the question's subject. A subject whose questions fail for ever says nothing
    ///   about Apple.
    init(_ share: StoreQueryShare, of subject: Int) {
        work =
            switch share {
            case .submission: .submission
            case .subscriptions, .history: .queue
            case .background: .background
            }
        // The question goes behind submissions without an answer, because its own submission has got an answer.
        isRetry = true
        isProven = true
        isLeased = true
        suspect = Suspect(player: subject, proof: subject)
        waiting = nil
    }
}
