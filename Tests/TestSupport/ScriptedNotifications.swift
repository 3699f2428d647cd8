import Fulfillment
import Synchronization

/// A parser of notifications that returns the results that the test set. Any other body is no notification.
public final class ScriptedNotifications: NotificationParser {
    private let readings = Mutex<[[UInt8]: NotificationReading]>([:])

    public init() {}

    public func read(_ body: [UInt8], as reading: NotificationReading) {
        readings.withLock { $0[body] = reading }
    }

    public func parse(notification body: [UInt8]) -> NotificationReading {
        readings.withLock { $0[body] } ?? .unusable("no test said what it is")
    }
}
