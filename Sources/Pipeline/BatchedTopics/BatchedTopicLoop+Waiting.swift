import Foundation
import Logging
import NamesAndTimes
import Operations

extension BatchedTopicLoop {
    /// If `waitForLosses` waits longer than this, it logs the wait.
    private static let lateSeconds = 30.0

    /// Waits until the worker knows which decisions the database lost, or until the loop stops. The loop is in no group
    /// meanwhile, so no other member of its group waits for it.
    func waitForLosses() {
        guard let losses, !losses.isOpen else { return }
        let lateAt = WallClock.monotonicSeconds + Self.lateSeconds
        rest { !losses.isOpen && WallClock.monotonicSeconds < lateAt }
        guard !losses.isOpen, !isStopped else { return }
        logger.notice(
            "the worker reads no records of a topic until it knows which decisions the database lost",
            [.topic: "\(topic.name)"])
        rest { !losses.isOpen }
    }

    /// Sleeps while `mustRest` returns true and the loop does not stop, and reports to health meanwhile.
    func rest(while mustRest: () -> Bool) {
        while !isStopped, mustRest() {
            health.beat(topic.part)
            Thread.sleep(forTimeInterval: 0.1)
        }
    }
}
