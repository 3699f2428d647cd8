import Synchronization

/// Admits one search through many days at a time. Each search holds one of the console's few PostgreSQL sessions.
final class FarSearch: Sendable {
    private let isUnderWay = Atomic(false)

    /// Returns false if a search is running already.
    func begin() -> Bool {
        isUnderWay.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
    }

    func end() { isUnderWay.store(false, ordering: .sequentiallyConsistent) }
}
