import Fulfillment
import NamesAndTimes

/// An operator's decision to revoke or reinstate a grant.
public struct GrantDecision: Sendable {
    public enum Word: String, Sendable {
        case revoke
        /// The operator withdraws the earlier revocation.
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
        /// The decision is stored without an event. Apple's refund is in force, so the player's purchase does not
        /// change.
        case remembered
        /// Nothing changed: an earlier decision was the same, or there was no revocation by an operator to withdraw.
        case unchanged
        case notGranted
        /// Nothing changed: the grant of the transaction with this id gives the same non-consumable, and is in force.
        case inForce(StoreTransactionID)
    }
}
