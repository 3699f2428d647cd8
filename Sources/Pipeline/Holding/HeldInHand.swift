import Fulfillment
import NamesAndTimes

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

extension LeasedHold {
    /// The proof of a purchase that nobody submitted: Apple told of it by itself. Nil of everything that was submitted.
    var announcedProof: ParsedProof? {
        guard announced != nil else { return nil }
        return ParsedProof(
            digest: Digest256(hashing: Array(transactionID.text.utf8)), material: .transactionID(transactionID),
            signature: .proven)
    }

    /// The evidence in Apple's announcement, if the app cannot ask Apple. Nil of everything that was submitted.
    func announcedEvidence(for app: AppPolicy) -> GenuineReceipt? {
        announced != nil && app.serverAPI == nil ? evidence : nil
    }
}
