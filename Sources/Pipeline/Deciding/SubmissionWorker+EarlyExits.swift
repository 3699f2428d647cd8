import Fulfillment
import Kafka
import Logging
import Operations

/// The way in which a submission's work ends before a request to Apple. Boxed, so that it takes no memory in the
/// thousands of submissions that wait for Apple.
indirect enum EarlyExit: Sendable {
    case deadLetter(DeadLetter, of: ConsumerRecord)
    case rejected(Submission, Refusal, proof: Digest256?)
    case blocked(AppleAnswer.Blockage, ScreenedSubmission)
}

extension SubmissionWorker {
    @inline(never)
    func leave(_ item: SubmissionInHand, by exit: EarlyExit) async throws(Abandoned) {
        switch exit {
        case .deadLetter(let letter, let record):
            if letter.reason == .crashed {
                // The process may have died after the decision, before Kafka stored that the record is done.
                if try await isAnsweredAgain(item, item.position.content) { return }
                logger.error(
                    "a record crashes the process: it becomes a dead letter",
                    [
                        .topic: "\(item.position.topic)", .partition: .stringConvertible(item.position.partition),
                        .offset: .stringConvertible(item.position.offset), .detail: "\(letter.detail)",
                    ])
            }
            try await publishDeadLetter(letter, of: record, item)
        case .rejected(let submission, let refusal, let proof):
            try await rejectLocally(submission, for: refusal, proof: proof, item)
            checkLater(submission, of: item, after: refusal)
        case .blocked(let blockage, let screened):
            noteMissingCredentials(blockage, of: screened)
            try await parkUntried(screened, blockedBy: blockage)
        }
    }
}
