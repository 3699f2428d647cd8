import Fulfillment

/// A proof to put to Apple, and the work that waits for the answer.
struct AppleInquiry: Sendable {
    let work: WorkInHand
    let submission: Submission
    let proof: ParsedProof
    /// True if the submission was leased from PostgreSQL.
    var isLeased = false
    /// The reason why the submission was parked; nil if it was never parked.
    var parkedFor: ParkingReason?
    /// True for a held purchase. Then neither the ledger nor a fresh JWS answers instead of Apple: a refund since the
    /// hold began may be missing from both.
    var isAskedAgain = false
}
