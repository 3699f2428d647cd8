import BackOffice
import Fulfillment
import NamesAndTimes

/// The release of one purchase that cannot be read. It lets nothing pass: a worker asks Apple again, and where Apple tells it no
/// better the purchase stays held, which whoever released it is to hear.
package struct UnreadableRelease: Sendable {
    /// The time that a worker may take to ask Apple. Seconds.
    static let decisionSeconds = 30.0
    private static let lookMilliseconds = 200

    private let store: HoldAdministration
    private let filter: HoldFilter

    /// Nil unless one transaction is named that is held because it cannot be read. Before the release. Throws a `PostgresError`.
    package init?(of chosen: HoldFilter, in store: HoldAdministration) async throws {
        guard let transaction = chosen.id else { return nil }
        filter = HoldFilter(id: transaction, reason: .unreadableTransaction, playerID: chosen.playerID)
        self.store = store
        guard try await store.count(filter).all > 0 else { return nil }
    }

    /// Waits for what a worker makes of it. Nil where it is held no more, or for another reason, and where no worker has
    /// decided it in time; else why it stays.
    package func end() async throws -> String? {
        let end = WallClock.monotonicSeconds + Self.decisionSeconds
        while WallClock.monotonicSeconds < end {
            try await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
            let left = try await store.count(filter)
            if left.all == 0 { return nil }
            if left.released == 0 {
                return "it stays held: Apple was asked again, and what cannot be read of it is still so. `holds list` "
                    + "names the field"
            }
        }
        return nil
    }
}
