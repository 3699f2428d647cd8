import Fulfillment
import Operations

/// A short way out of a submission's life. A class: thousands who wait for Apple are to take no room for it.
final class EarlyExit: Sendable {
    enum Way: Sendable {
        case deadLetter(DeadLetter)
        case rejected(Submission, Refusal, proof: Digest256?, under: Catalog)
        case blocked(AppleAnswer.Blockage, ScreenedSubmission, under: Catalog)
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
        case .rejected(let submission, let refusal, let proof, let catalog):
            if case .held(let hold) = item.origin {
                return try await endHold(hold, by: refusal, item, catalogVersion: catalog.version)
            }
            try await rejectLocally(submission, for: refusal, proof: proof, item)
            checkLater(submission, of: item, after: refusal)
        case .blocked(let blockage, let screened, let catalog):
            noteMissingCredentials(blockage, of: screened, in: catalog)
            if item.isHeld {
                metrics.retries.increment()
                return await reschedule(heldBy: item)
            }
            try await parkUntried(screened, blockedBy: blockage)
        }
    }
}
