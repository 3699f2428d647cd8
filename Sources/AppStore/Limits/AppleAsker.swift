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

    /// - Parameter subject: a hash of the query's subject. If only the queries about one subject fail, Apple is not
    ///   down.
    init(_ share: StoreQueryShare, of subject: Int) {
        work =
            switch share {
            case .submission: .submission
            case .subscriptions, .history: .queue
            case .background: .background
            }
        // First tries of submissions go before a query. A submission that waits for a query already has another answer
        // of Apple's, and other queries can wait.
        isRetry = true
        isProven = true
        isLeased = true
        suspect = Suspect(player: subject, proof: subject)
        waiting = nil
    }
}
