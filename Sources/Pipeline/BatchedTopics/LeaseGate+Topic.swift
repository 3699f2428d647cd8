import Foundation
import Logging
import NamesAndTimes
import Operations

extension LeaseGate {
    /// If the gate is still closed after this time, the wait is logged.
    private static let lateSeconds = 30.0

    /// Blocks until the gate is open, or until the loop stops. The loop is in no group meanwhile, so no other member of
    /// its group waits for it.
    func awaitOpening(of loop: BatchedTopicLoop) {
        let lateAt = WallClock.monotonicSeconds + Self.lateSeconds
        var isLate = false
        while !isOpen, !loop.isStopped {
            loop.health.beat(loop.topic.part)
            if !isLate, WallClock.monotonicSeconds >= lateAt {
                isLate = true
                loop.logger.notice(
                    "a topic waits until the worker knows which decisions the database lost",
                    [.topic: "\(loop.topic.name)"])
            }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }
}
