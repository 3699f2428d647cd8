import Fulfillment
import NamesAndTimes

/// Who asks Apple, for the limits.
struct AppleAsker {
    let work: RequestKind.Work
    let isRetry: Bool
    let isProven: Bool
    /// It holds a lease, which ends: it waits for no outage's end.
    let isLeased: Bool
    let suspect: Suspect
    /// Told of a wait in front of Apple, as it begins (true) and ends.
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
        // Behind the submissions that have not been answered yet: whoever waits for this one has got one answer.
        isRetry = true
        isProven = true
        isLeased = true
        suspect = Suspect(player: subject, proof: subject)
        waiting = nil
    }
}
