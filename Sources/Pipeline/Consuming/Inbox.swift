import Foundation
import Fulfillment
import Kafka

/// The queue of tasks' messages to the consumer's thread. `post` blocks for no longer than a lock.
///
/// `@unchecked Sendable`: `messages` is touched only with the condition's lock held.
final class Inbox: @unchecked Sendable {
    enum Message: Sendable {
        /// The record's outcome is durable (`isDone`), or its work was given up.
        case ended(RecordInHand, isDone: Bool)
        /// The partition's outbox is swept and its checkpoint is read. Its records may begin.
        case prepared(TopicPartition, assignment: UInt64, highestDecided: Int64?, StoredCheckpoints)
        /// The database has again the claims that it lost by a fall back, if it lost any.
        case claimsAreEntered(takeover: Int)
        /// The database fell back to an earlier state. The ledger decides nothing until the losses are known.
        case databaseFellBack
        /// The database has answered a batch of checkpoints. The result is nil if it did not answer.
        case checkpointed(CheckpointBatch, CheckpointResult?)
        case looked(CheckpointLook, StoredCheckpoints)
        /// The isolated record asks to go on, or to wait.
        case accusation(AccusationRequest)
        case stop
    }

    private let condition = NSCondition()
    private var messages: [Message] = []

    func post(_ message: Message) {
        condition.lock()
        messages.append(message)
        condition.signal()
        condition.unlock()
    }

    /// True if `take` would return `stop`.
    var isStopPosted: Bool {
        condition.lock()
        defer { condition.unlock() }
        return messages.contains { if case .stop = $0 { true } else { false } }
    }

    /// Takes all messages. Waits for the first one up to `seconds`.
    func take(waitingSeconds seconds: Double = 0) -> [Message] {
        condition.lock()
        defer { condition.unlock() }
        if messages.isEmpty, seconds > 0 { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        let taken = messages
        messages.removeAll(keepingCapacity: true)
        return taken
    }
}
