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
    /// True if the ledger may answer instead of Apple. False for a held purchase: the ledger has it already, and may
    /// not know of its refund.
    var isAnsweredByLedger = true
}
