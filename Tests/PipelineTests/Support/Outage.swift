import Fulfillment
import Synchronization

/// Whether Apple is out, as the test says.
final class Outage: AppleState {
    private let state = Mutex((isDown: false, seconds: 0.0))

    func begin() { state.withLock { $0.isDown = true } }
    func end() { state.withLock { $0.isDown = false } }
    /// One that is over.
    func last(seconds: Double) { state.withLock { $0.seconds += seconds } }

    var isDown: Bool { state.withLock(\.isDown) }
    var downSeconds: Double { state.withLock(\.seconds) }
}
