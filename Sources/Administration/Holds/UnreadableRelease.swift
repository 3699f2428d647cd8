import BackOffice
import Fulfillment
import NamesAndTimes

/// Waits for the result after an operator releases a purchase that is held because a field cannot be read. Such a
/// release waives no reason. A worker asks Apple again, and holds the purchase again if the field is still unreadable.
package struct UnreadableRelease: Sendable {
    /// The seconds that the command waits for a worker's decision.
    static let decisionSeconds = 30.0
    private static let lookMilliseconds = 200

    private let store: HoldAdministration
    private let filter: HoldFilter

    /// Returns nil unless the filter names one transaction that is held because a field cannot be read. The caller must
    /// make this value before the release. Throws a `PostgresError`.
    package init?(of chosen: HoldFilter, in store: HoldAdministration) async throws {
        guard let transaction = chosen.id else { return nil }
        filter = HoldFilter(id: transaction, reason: .unreadableTransaction, playerID: chosen.playerID)
        self.store = store
        guard try await store.count(filter).all > 0 else { return nil }
    }

    /// Waits until a worker has decided. Returns the reason why the purchase stays held. Returns nil if the purchase is
    /// no longer held, or if no worker decided within `decisionSeconds`.
    package func end() async throws -> String? {
        let end = WallClock.monotonicSeconds + Self.decisionSeconds
        while WallClock.monotonicSeconds < end {
            try await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
            let left = try await store.count(filter)
            if left.all == 0 { return nil }
            if left.released == 0 {
                return "the purchase stays held: a worker asked Apple again, and a field is still unreadable. "
                    + "`holds list` names the field"
            }
        }
        return nil
    }
}
