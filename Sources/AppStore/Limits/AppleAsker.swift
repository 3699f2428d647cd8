import Fulfillment
import NamesAndTimes

/// The facts that the limits need about the work behind a request to Apple.
struct AppleAsker {
    let work: RequestKind.Work
    let isRetry: Bool
    let isProven: Bool
    /// True if the work is a leased row. The lease ends by itself, so the request does not wait for the end of an
    /// outage.
    let isLeased: Bool
    /// True if the request is the first try of a submission in memory.
    var hasPlaceOfFirstTry: Bool { work == .submission && !isRetry && !isLeased }
    let suspect: Suspect
    /// A function that gets true when the request begins to wait for its turn, and false when the wait ends.
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

    /// - Parameter subject: a hash of the query's subject. One subject whose queries always fail says nothing about
    ///   Apple.
    init(_ share: StoreQueryShare, of subject: Int) {
        work =
            switch share {
            case .submission: .submission
            case .subscriptions, .history: .queue
            case .background: .background
            }
        // The query goes after first tries, because its own submission already has an answer of Apple's.
        isRetry = true
        isProven = true
        isLeased = true
        suspect = Suspect(player: subject, proof: subject)
        waiting = nil
    }
}
