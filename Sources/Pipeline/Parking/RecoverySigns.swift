import Fulfillment
import Synchronization

/// Signs that Apple's trouble is over: what had met it is answered.
///
/// A parked submission may be due long after that, and nothing else would tell it. Each sign makes two others due, so that a
/// few answers wake all in a little while, and what goes on failing is asked for no more often than others are answered.
final class RecoverySigns: Sendable {
    /// Parked submissions that are to be due now.
    struct Taken: Equatable {
        let count: Int
        /// Nil for all.
        let apps: Set<BundleID>?
        /// The place at which the last look ended.
        let place: NameBasedUUID?
    }

    /// Woken for each answer.
    static let wokenByAnswer = 2
    /// Woken where Apple as a whole was out.
    static let wokenByReturn = 20
    /// Woken at a time.
    static let most = 200

    private struct State {
        var apps: Set<BundleID> = []
        var count = 0
        var wasDown = false
        var place: NameBasedUUID?
    }

    private let state = Mutex(State())

    /// One of the app's that had met trouble has its answer.
    func answered(_ bundleID: BundleID) {
        state.withLock { state in
            state.apps.insert(bundleID)
            state.count = min(state.count + Self.wokenByAnswer, Self.most)
        }
    }

    /// Nil where there is none. To be called now and then.
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

    /// The next look begins behind that place; nil: at the beginning.
    func looked(to place: NameBasedUUID?) { state.withLock { $0.place = place } }
}
