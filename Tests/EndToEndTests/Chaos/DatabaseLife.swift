import Synchronization

/// Counts the times that the database may have lost commits. While the database loses commits, its rows prove nothing.
final class DatabaseLife: Sendable {
    private let state = Mutex((losses: 0, isLosing: false))

    /// The number of losses so far; nil during a loss.
    var losses: Int? { state.withLock { $0.isLosing ? nil : $0.losses } }

    func beginLosing() { state.withLock { $0.isLosing = true } }

    func endLosing() { state.withLock { $0 = (losses: $0.losses + 1, isLosing: false) } }
}
