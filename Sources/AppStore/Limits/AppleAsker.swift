import Fulfillment
import NamesAndTimes

/// The submission or work that asks Apple, for the limits.
struct AppleAsker {
    let work: RequestKind.Work
    let isRetry: Bool
    let isProven: Bool
    /// The request holds a lease, which ends: it waits for no outage's end.
    let isLeased: Bool
    let suspect: Suspect
    /// Called at the beginning (true) and end of a wait in front of Apple.
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

    /// - Parameter subject: what is asked about: one of a thousand that fails for ever says nothing of Apple.
    init(_ share: StoreQueryShare, of subject: Int) {
        work =
            switch share {
            case .submission: .submission
            case .subscriptions, .history: .queue
            case .background: .background
            }
        // Goes behind the submissions that have not been answered yet: this one's submission has got one answer.
        isRetry = true
        isProven = true
        isLeased = true
        suspect = Suspect(player: subject, proof: subject)
        waiting = nil
    }
}
