import Foundation

/// A value that one thread reports once, and for which other threads wait.
///
/// `@unchecked Sendable` is sound, because every access to `value` locks `condition`.
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

    /// Waits for the value; returns nil if no thread reports a value within this time.
    func wait(seconds: Double) -> Value? {
        let limit = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while value == nil, condition.wait(until: limit) {}
            return value
        }
    }
}
