import BackOffice
import Fulfillment
import NamesAndTimes

/// The release of a purchase that is held because it cannot be read. A release waives nothing here: a worker asks Apple
/// again. If Apple's answer is no better, the purchase stays held, and the operator is told.
package struct UnreadableRelease: Sendable {
    /// The seconds that a worker may take to ask Apple.
    static let decisionSeconds = 30.0
    private static let lookMilliseconds = 200

    private let store: HoldAdministration
    private let filter: HoldFilter

    /// Returns nil unless the filter names one transaction that is held because it cannot be read. Make it before the
    /// release. Throws a `PostgresError`.
    package init?(of chosen: HoldFilter, in store: HoldAdministration) async throws {
        guard let transaction = chosen.id else { return nil }
        filter = HoldFilter(id: transaction, reason: .unreadableTransaction, playerID: chosen.playerID)
        self.store = store
        guard try await store.count(filter).all > 0 else { return nil }
    }

    /// Waits until a worker has decided. Returns why the purchase stays held; nil if it does not, or if no worker has
    /// decided in time.
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
