import Fulfillment
import Synchronization

/// Signs that Apple's trouble is over: submissions that had met it are answered.
///
/// A parked submission may be due long after that, and hears of it by nothing else. Each sign makes two others due. So
/// a few answers wake all in a little while, and submissions that go on failing are tried no more often than others are
/// answered.
final class RecoverySigns: Sendable {
    /// The parked submissions to make due now.
    struct Taken: Equatable {
        let count: Int
        /// The apps; nil for all.
        let apps: Set<BundleID>?
        /// The place at which the last look ended; nil for the beginning.
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

    /// Notes that a submission of the app that had met trouble has its answer.
    func answered(_ bundleID: BundleID) {
        state.withLock { state in
            state.apps.insert(bundleID)
            state.count = min(state.count + Self.wokenByAnswer, Self.most)
        }
    }

    /// Returns the signs since the last call; nil if there is none. Call it now and then.
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

    /// Lets the next look begin behind that place; nil for the beginning.
    func looked(to place: NameBasedUUID?) { state.withLock { $0.place = place } }
}
