import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Notes whether Apple accepts an app's credentials. When Apple accepts them again, makes the app's parked submissions
/// due.
extension AppleDesk {
    /// - Parameter isReceipt: true if verifyReceipt gave the answer.
    func noteAnswer(_ answer: AppleAnswer, to inquiry: AppleInquiry, isReceipt: Bool) {
        let bundleID = inquiry.submission.bundleID
        let reasons = isReceipt ? ParkingReason.blockagesOfReceipts : ParkingReason.blockagesOfTransactions
        let credentials = BlockedApps.Credentials(bundleID: bundleID, areForReceipts: isReceipt)
        switch answer {
        case .blocked(let blockage):
            if parking.blockedApps.noteBlocked(credentials) {
                logger.error(
                    "an app's submissions are parked: correct the app's settings",
                    [.bundleID: "\(bundleID)", .reason: "\(blockage.rawValue)"])
            }
        case .genuine:
            let wasBlocked = inquiry.parkedFor.map(reasons.contains) ?? false
            guard parking.blockedApps.noteAnswer(credentials, wasBlocked: wasBlocked, now: WallClock.monotonicSeconds)
            else { return }
            logger.info("the worker tries an app's submissions again", [.bundleID: "\(bundleID)"])
            wake(bundleID, for: reasons)
        case .refused, .trouble: break
        }
    }

    func wake(_ bundleID: BundleID, for reasons: [ParkingReason]) {
        Task { [store = parking.store, failures = metrics.failures] in
            do { try await store.retryBlocked(bundleID, for: reasons) } catch { failures.report(error, of: .parked) }
        }
    }
}
