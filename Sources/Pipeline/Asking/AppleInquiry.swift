import Fulfillment

/// A proof that is put to Apple, and the work that waits for the answer.
struct AppleInquiry: Sendable {
    let work: WorkInHand
    let submission: Submission
    let proof: ParsedProof
    /// It was taken out of PostgreSQL under a lease.
    var isLeased = false
    /// The reason why it was parked, nil for what was not.
    var parkedFor: ParkingReason?
    /// False for a held purchase: the ledger has it, and may not know of its refund.
    var isAnsweredByLedger = true
}
