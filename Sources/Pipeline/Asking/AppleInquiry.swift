import Fulfillment

/// A proof to check with Apple, and the work that waits for Apple's answer.
struct AppleInquiry: Sendable {
    let work: WorkInHand
    let submission: Submission
    let proof: ParsedProof
    /// True if the submission was leased from PostgreSQL.
    var isLeased = false
    /// The reason for which the submission was parked; nil if it was never parked.
    var parkedFor: ParkingReason?
    /// True for a held purchase. Then only Apple's present answer counts. Apple may have refunded the purchase after
    /// the hold began, and the ledger and a fresh JWS may lack this refund.
    var isAskedAgain = false
}
