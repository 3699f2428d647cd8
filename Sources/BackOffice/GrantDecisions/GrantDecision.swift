import Fulfillment
import NamesAndTimes

/// An operator's decision about a grant.
public struct GrantDecision: Sendable {
    public enum Word: String, Sendable {
        /// The operator takes the grant back from the player.
        case revoke
        /// The operator takes that decision back.
        case reinstate
    }

    public let word: Word
    public let transactionID: StoreTransactionID
    public let operatorName: String
    public let note: String?
    public let decidedAt: Timestamp

    public init(
        _ word: Word, _ transactionID: StoreTransactionID, by operatorName: String, note: String? = nil,
        at decidedAt: Timestamp
    ) {
        self.word = word
        self.transactionID = transactionID
        self.operatorName = operatorName
        self.note = note
        self.decidedAt = decidedAt
    }

    /// The result of the decision.
    public enum Ending: Sendable, Equatable {
        case published(OutcomeEvent)
        /// Remembered; what the player has is the same as before, for Apple's refund is in force.
        case remembered
        /// An operator had said so before, or never said what is taken back.
        case unchanged
        case notGranted
        /// The same non-consumable is granted by this transaction, and in force: nothing was changed.
        case inForce(StoreTransactionID)
    }
}
