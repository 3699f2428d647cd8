import Fulfillment
import NamesAndTimes

/// A hold of a purchase that nobody submitted: Apple told of it by itself, so that there is no proof to be screened.
extension ScreenedSubmission {
    init(announced hold: LeasedHold, _ item: SubmissionInHand) {
        self.init(
            item: item, submission: hold.submission,
            proof: ParsedProof(
                digest: Digest256(hashing: Array(hold.transactionID.text.utf8)),
                material: .transactionID(hold.transactionID), signature: .proven))
    }
}

extension SubmissionInHand {
    /// The evidence in Apple's announcement, if the app cannot ask Apple. Nil of everything that was submitted.
    func announcedEvidence(for app: AppPolicy) -> GenuineReceipt? {
        guard case .held(let hold) = origin, hold.announced != nil, app.serverAPI == nil else { return nil }
        return hold.evidence
    }
}
