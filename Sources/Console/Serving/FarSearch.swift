import Synchronization

/// Admits one search through many days at a time, because each such search occupies one of the console's few PostgreSQL
/// sessions.
final class FarSearch: Sendable {
    private let isUnderWay = Atomic(false)

    /// Returns true if the search may run; false if another search is running.
    func begin() -> Bool {
        isUnderWay.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
    }

    func end() { isUnderWay.store(false, ordering: .sequentiallyConsistent) }
}
