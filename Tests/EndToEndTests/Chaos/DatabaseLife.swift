import Synchronization

/// Counts the times that the database may have lost what it had. While it loses it, nothing can be said of what it has.
final class DatabaseLife: Sendable {
    private let state = Mutex((losses: 0, isLosing: false))

    /// Nil while it is losing.
    var losses: Int? { state.withLock { $0.isLosing ? nil : $0.losses } }

    func beginLosing() { state.withLock { $0.isLosing = true } }

    func endLosing() { state.withLock { $0 = (losses: $0.losses + 1, isLosing: false) } }
}
