import Fulfillment

/// A proof to put to Apple, and the work that waits for the answer.
struct AppleInquiry: Sendable {
    let work: WorkInHand
    let submission: Submission
    let proof: ParsedProof
    /// True if the submission was leased from PostgreSQL.
    var isLeased = false
    /// The reason why the submission was parked; nil if it was not.
    var parkedFor: ParkingReason?
    /// False for a held purchase, which the ledger has. The ledger may not know of its refund.
    var isAnsweredByLedger = true
}
