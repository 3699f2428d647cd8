import Fulfillment

/// The name of a hold in a change: two players may wait for one transaction.
struct HeldRow {
    let transactionID: String
    /// The player; nil for all players who wait for the transaction.
    let playerID: String?

    init(transactionID: String, playerID: String?) {
        (self.transactionID, self.playerID) = (transactionID, playerID)
    }

    /// Returns nil if the id names no transaction. A transaction's id has no blank, and a player's id may have blanks.
    init?(_ id: String) {
        let parts = id.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let transaction = parts.first, TransactionIDText.isSound(transaction) else { return nil }
        let player = parts.dropFirst().first
        guard player?.isEmpty != true else { return nil }
        self.init(transactionID: transaction, playerID: player)
    }

    var id: String { ([transactionID] + [playerID].compactMap(\.self)).joined(separator: " ") }
}
