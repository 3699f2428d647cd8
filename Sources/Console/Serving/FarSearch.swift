import Synchronization

/// The one search through many days that may be under way: each holds a session of PostgreSQL, and there are few.
final class FarSearch: Sendable {
    private let isUnderWay = Atomic(false)

    /// Returns false if a search is running already.
    func begin() -> Bool {
        isUnderWay.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
    }

    func end() { isUnderWay.store(false, ordering: .sequentiallyConsistent) }
}
