import Foundation
import NamesAndTimes
import Synchronization

/// Seconds that pass when the test says so.
final class SteppedClock: Sendable {
    private let seconds = Mutex(1_000.0)

    var now: Double { seconds.withLock { $0 } }
    func advance(seconds more: Double) { seconds.withLock { $0 += more } }
}

/// The time of day, from now on, where only the test lets it pass.
final class SteppedWallClock: Sendable {
    let began = Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
    private let passed = Mutex<Int64>(0)

    var now: Timestamp { began.adding(milliseconds: passed.withLock { $0 }) }
    var read: @Sendable () -> Timestamp { { self.now } }
    func advance(seconds: Int64) { passed.withLock { $0 += seconds * 1000 } }
}
