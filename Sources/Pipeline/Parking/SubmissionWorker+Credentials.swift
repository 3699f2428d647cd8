import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Handles submissions that wait because their app has no App Store Server API credentials.
extension SubmissionWorker {
    /// Notes a submission that is blocked before its first try. A bare transaction id proves nothing. So the app counts
    /// as misconfigured only when several players have sent such ids.
    func noteMissingCredentials(_ blockage: AppleAnswer.Blockage, of screened: ScreenedSubmission) {
        let submission = screened.submission
        guard case .transactionID = screened.proof.material,
            let app = catalog().apps[submission.bundleID], app.serverAPI == nil
        else { return }
        let (isMisconfigured, isNews) = parking.missingCredentials.note(
            submission.bundleID, player: submission.playerID, proof: screened.proof.digest,
            now: WallClock.monotonicSeconds)
        guard isMisconfigured else { return }
        metrics.lacksServerAPI(submission.bundleID, true)
        guard isNews else { return }
        logger.error(
            "the worker parks submissions with transaction ids: the catalog gives the app no server_api",
            [
                .bundleID: "\(submission.bundleID)", .reason: "\(blockage.rawValue)",
                .detail: "\(MissingCredentials.sentence)",
            ])
    }

    /// Makes parked submissions due if the newest catalog has the credentials for which they wait.
    func noteNewCredentials() {
        let catalog = catalog()
        for mended in parking.missingCredentials.mended(catalog, now: WallClock.monotonicSeconds) {
            if mended.wasMisconfigured {
                metrics.lacksServerAPI(mended.bundleID, false)
                logger.notice(
                    "the worker no longer parks the app's submissions with transaction ids",
                    [.bundleID: "\(mended.bundleID)"])
            }
            if catalog.apps[mended.bundleID]?.serverAPI != nil {
                desk.wake(mended.bundleID, for: ParkingReason.blockagesOfTransactions)
            }
        }
    }
}
