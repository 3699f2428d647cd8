import Foundation

/// A value that one thread reports once, and for which other threads wait, blocked.
///
/// `@unchecked Sendable` is sound: `value` is read and written with `condition` locked.
final class Outcome<Value: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value?

    func report(_ value: Value) {
        condition.withLock {
            self.value = value
            condition.broadcast()
        }
    }

    var current: Value? { condition.withLock { value } }

    func wait() -> Value {
        condition.withLock {
            while true {
                if let value { return value }
                condition.wait()
            }
        }
    }

    /// Waits for the value; nil if none is reported within so many seconds.
    func wait(seconds: Double) -> Value? {
        let limit = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while value == nil, condition.wait(until: limit) {}
            return value
        }
    }
}
