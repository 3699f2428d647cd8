import BackOffice
import Fulfillment
import NamesAndTimes

/// The sentences of `receiptd players erase`.
package enum ErasureText {
    /// Returns the numbers of the purchases and submissions that the command rejects with `--force`. Names announced
    /// purchases only if there are any.
    package static func waiting(_ waiting: PlayerErasure.Waiting) -> String {
        let held = counted(waiting.held, "held purchase")
        let announced = waiting.announced > 0 ? ", " + counted(waiting.announced, "announced purchase") : ""
        return "\(held)\(announced) and \(counted(waiting.parked, "parked submission"))"
    }

    /// Returns the sentence about rows that a worker must end before the erasure.
    package static func left(_ waiting: PlayerErasure.Waiting) -> String {
        """
        \(counted(waiting.held, "held purchase")), \(counted(waiting.parked, "parked submission")) and \
        \(counted(waiting.unpublished, "unpublished event")) are left: keep a worker running until none is left, then \
        run the command again
        """
    }

    /// Returns the lines about an erasure that is complete.
    package static func erased(as pseudonym: PlayerID) -> String {
        """
        erased; the pseudonym is \(pseudonym.text)
        receiptd does not change the following places. Clear those that name the player:
          player-accounts, first of all: publish a null for each of the player's tokens
          the topics of submissions, outcomes and dead letters: wait for their retention, or publish a tombstone
          backups of the database, and logs
          the catalog, if its sandbox policy names the player
        """
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
