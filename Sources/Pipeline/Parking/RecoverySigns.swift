import Fulfillment
import Synchronization

/// Signs that a failure at Apple is over: Apple answered submissions after it had failed for them.
///
/// A parked submission's next try may be due long after the failure. Each sign makes two more submissions due. So a few
/// answers soon wake all submissions. Submissions that keep failing are tried at most twice as often as Apple answers
/// others.
final class RecoverySigns: Sendable {
    /// The number of parked submissions to make due now, and the rows to choose them from.
    struct Taken: Equatable {
        let count: Int
        /// The apps of the submissions; nil for all apps.
        let apps: Set<BundleID>?
        /// The row at which the last search ended; nil to start at the first row.
        let place: NameBasedUUID?
    }

    /// The number of submissions that each answer makes due.
    static let wokenByAnswer = 2
    /// The number of submissions to make due when all of Apple is back.
    static let wokenByReturn = 20
    /// The most submissions that are made due at a time.
    static let most = 200

    private struct State {
        var apps: Set<BundleID> = []
        var count = 0
        var wasDown = false
        var place: NameBasedUUID?
    }

    private let state = Mutex(State())

    /// Notes that Apple answered one of the app's submissions after an earlier failure.
    func answered(_ bundleID: BundleID) {
        state.withLock { state in
            state.apps.insert(bundleID)
            state.count = min(state.count + Self.wokenByAnswer, Self.most)
        }
    }

    /// Returns the signs since the last call; nil if there are none. Call it regularly.
    func take(isDown: Bool) -> Taken? {
        state.withLock { state in
            let isBack = state.wasDown && !isDown
            state.wasDown = isDown
            guard isBack || state.count > 0 else { return nil }
            defer { (state.apps, state.count) = ([], 0) }
            return Taken(
                count: max(state.count, isBack ? Self.wokenByReturn : 0), apps: isBack ? nil : state.apps,
                place: state.place)
        }
    }

    /// Makes the next search start at the row after `place`, or at the first row if `place` is nil.
    func looked(to place: NameBasedUUID?) { state.withLock { $0.place = place } }
}
