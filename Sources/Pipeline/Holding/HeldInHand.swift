import Fulfillment

/// A held purchase whose hold may end, in memory: it is tried as if its submission held nothing else.
struct HeldInHand: Sendable {
    let hold: LeasedHold
    let work: WorkInHand

    /// - Parameter answer: shared with the other holds of the submission.
    init(_ hold: LeasedHold, sharing answer: GroupAnswer = GroupAnswer()) {
        self.hold = hold
        work = WorkInHand(at: hold.position, sharing: answer)
    }

    func inquiry(_ proof: ParsedProof) -> AppleInquiry {
        AppleInquiry(
            work: work, submission: hold.submission, proof: proof, isLeased: true, isAnsweredByLedger: false)
    }
}
