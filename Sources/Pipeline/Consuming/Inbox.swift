import Foundation
import Fulfillment
import Kafka

/// The queue of tasks' messages to the consumer's thread. `post` blocks only for a lock.
///
/// `@unchecked Sendable` is sound: `messages` is used only with `condition` locked.
final class Inbox: @unchecked Sendable {
    enum Message: Sendable {
        /// The record's outcome is durable (`isDone`), or its work was abandoned.
        case ended(RecordInHand, isDone: Bool)
        /// The worker has published the partition's unpublished events and read its checkpoint. So the partition's
        /// records may begin.
        case prepared(TopicPartition, assignment: UInt64, highestDecided: Int64?, StoredCheckpoints)
        /// The worker has restored the claims (the owners of purchases) that the database lost when it fell back to an
        /// earlier state, if it lost any.
        case claimsAreEntered(takeover: Int)
        /// The database fell back to an earlier state. The ledger decides nothing until the worker knows which
        /// decisions the database lost.
        case databaseFellBack
        /// The database has answered a batch of checkpoints. The result is nil if the write failed.
        case checkpointed(CheckpointBatch, CheckpointResult?)
        case looked(CheckpointLook, StoredCheckpoints)
        /// The request of the isolated record's task to store the accusation and continue, or to withdraw the
        /// accusation and wait.
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

    /// True if the queue has a `stop` message.
    var isStopPosted: Bool {
        condition.lock()
        defer { condition.unlock() }
        return messages.contains { if case .stop = $0 { true } else { false } }
    }

    /// Returns all messages, and removes them. Waits up to `seconds` for the first message.
    func take(waitingSeconds seconds: Double = 0) -> [Message] {
        condition.lock()
        defer { condition.unlock() }
        if messages.isEmpty, seconds > 0 { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        let taken = messages
        messages.removeAll(keepingCapacity: true)
        return taken
    }
}
