import Fulfillment
import Operations

/// A short way out of a submission's life. A class: thousands who wait for Apple are to take no room for it.
final class EarlyExit: Sendable {
    enum Way: Sendable {
        case deadLetter(DeadLetter)
        case rejected(Submission, Refusal, proof: Digest256?)
        case blocked(AppleAnswer.Blockage, ScreenedSubmission)
    }

    let way: Way

    init(_ way: Way) { self.way = way }
}

extension SubmissionWorker {
    @inline(never)
    func leave(_ item: SubmissionInHand, by exit: EarlyExit) async throws(Abandoned) {
        switch exit.way {
        case .deadLetter(let letter):
            guard case .record(let admitted) = item.origin else {
                // Only submissions are leased.
                throw Abandoned()
            }
            try await publishDeadLetter(letter, of: admitted.record, item)
        case .rejected(let submission, let refusal, let proof):
            try await rejectLocally(submission, for: refusal, proof: proof, item)
            checkLater(submission, of: item, after: refusal)
        case .blocked(let blockage, let screened):
            noteMissingCredentials(blockage, of: screened)
            try await parkUntried(screened, blockedBy: blockage)
        }
    }
}
