import Foundation
import NamesAndTimes
import Synchronization

/// A clock of seconds that only the test advances.
final class SteppedClock: Sendable {
    private let seconds = Mutex(1_000.0)

    var now: Double { seconds.withLock { $0 } }
    func advance(seconds more: Double) { seconds.withLock { $0 += more } }
}

/// A clock of the time of day that starts now and that only the test advances.
final class SteppedWallClock: Sendable {
    let began = Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
    private let passed = Mutex<Int64>(0)

    var now: Timestamp { began.adding(milliseconds: passed.withLock { $0 }) }
    var read: @Sendable () -> Timestamp { { self.now } }
    func advance(seconds: Int64) { passed.withLock { $0 += seconds * 1000 } }
}
