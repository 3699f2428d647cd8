import Fulfillment

/// The id by which a change names a hold (a purchase that waits for an operator): the transaction and the player. A
/// transaction alone is not enough, because two players may each have a hold on it.
struct HeldRow {
    let transactionID: String
    /// The player; nil for all players with a hold on the transaction.
    let playerID: String?

    init(transactionID: String, playerID: String?) {
        (self.transactionID, self.playerID) = (transactionID, playerID)
    }

    /// Reads a transaction id, or a transaction id, a blank and a player id. The player id may contain further blanks;
    /// a transaction id contains none. Returns nil if the transaction id is not sound, or if the player id is empty.
    init?(_ id: String) {
        let parts = id.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let transaction = parts.first, TransactionIDText.isSound(transaction) else { return nil }
        let player = parts.dropFirst().first
        guard player?.isEmpty != true else { return nil }
        self.init(transactionID: transaction, playerID: player)
    }

    var id: String { ([transactionID] + [playerID].compactMap(\.self)).joined(separator: " ") }
}
