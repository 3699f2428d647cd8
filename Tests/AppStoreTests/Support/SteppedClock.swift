import Synchronization

/// Seconds that pass when the test says so.
final class SteppedClock: Sendable {
    private let seconds = Mutex(1_000.0)

    var now: Double { seconds.withLock { $0 } }
    func advance(seconds more: Double) { seconds.withLock { $0 += more } }
}
