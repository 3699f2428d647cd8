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
        /// The decision is stored without an event: Apple's refund is in force, so that the player has the same as
        /// before.
        case remembered
        /// An operator had decided the same before, or had revoked nothing that could be reinstated.
        case unchanged
        case notGranted
        /// This transaction grants the same non-consumable and is in force: nothing was changed.
        case inForce(StoreTransactionID)
    }
}
