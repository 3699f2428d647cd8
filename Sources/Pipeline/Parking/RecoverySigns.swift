import Fulfillment
import Synchronization

/// The signs that Apple's trouble is over: answers to submissions that had met the trouble.
///
/// The next try of a parked submission may be due long after the trouble's end. Each sign makes two more submissions
/// due. So a few answers soon wake all, and submissions that keep failing are tried at most twice as often as others
/// are answered.
final class RecoverySigns: Sendable {
    /// The number of parked submissions to make due now, and where to look for them.
    struct Taken: Equatable {
        let count: Int
        /// The apps of the submissions; nil for all apps.
        let apps: Set<BundleID>?
        /// The place at which the last look ended; nil to begin at the first row.
        let place: NameBasedUUID?
    }

    /// The number of submissions that each answer wakes.
    static let wokenByAnswer = 2
    /// The number of submissions to wake when Apple as a whole is back.
    static let wokenByReturn = 20
    /// The most submissions that are woken at a time.
    static let most = 200

    private struct State {
        var apps: Set<BundleID> = []
        var count = 0
        var wasDown = false
        var place: NameBasedUUID?
    }

    private let state = Mutex(State())

    /// Notes that Apple answered a submission of the app which had met trouble before.
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

    /// Makes the next look begin with the row after `place`, or with the first row if `place` is nil.
    func looked(to place: NameBasedUUID?) { state.withLock { $0.place = place } }
}
