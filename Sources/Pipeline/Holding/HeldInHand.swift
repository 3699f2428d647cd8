import Fulfillment

/// A held purchase in memory whose hold may end. The worker judges it as if its submission had no other purchase.
struct HeldInHand: Sendable {
    let hold: LeasedHold
    let work: WorkInHand

    /// - Parameter answer: Apple's answer for all leased holds of the submission.
    init(_ hold: LeasedHold, sharing answer: GroupAnswer = GroupAnswer()) {
        self.hold = hold
        work = WorkInHand(at: hold.position, sharing: answer)
    }

    func inquiry(_ proof: ParsedProof) -> AppleInquiry {
        AppleInquiry(
            work: work, submission: hold.submission, proof: proof, isLeased: true, isAskedAgain: true)
    }
}
