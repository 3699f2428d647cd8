import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Applies one submission's answer to the other submissions of its app: they are blocked, or no longer.
extension SubmissionWorker {
    /// A submission that is blocked before it is tried. Nobody signs a bare transaction id, so that the app is only called
    /// misconfigured once several players sent one.
    func noteMissingCredentials(
        _ blockage: AppleAnswer.Blockage, of screened: ScreenedSubmission, in catalog: Catalog
    ) {
        let submission = screened.submission
        guard !screened.item.isHeld, case .transactionID = screened.proof.material,
            let app = catalog.apps[submission.bundleID], app.serverAPI == nil
        else { return }
        let (isMisconfigured, isNews) = parking.missingCredentials.note(
            submission.bundleID, player: submission.playerID, proof: screened.proof.digest,
            now: WallClock.monotonicSeconds)
        guard isMisconfigured else { return }
        metrics.lacksServerAPI(submission.bundleID, true)
        guard isNews else { return }
        logger.error(
            "transaction ids are parked: the app has no App Store Server API credentials",
            [
                .bundleID: "\(submission.bundleID)", .reason: "\(blockage.rawValue)",
                .detail: "\(MissingCredentials.sentence)",
            ])
    }

    /// Wakes what the newest catalog has credentials for.
    func noteNewCredentials() {
        let catalog = catalog()
        for mended in parking.missingCredentials.mended(catalog, now: WallClock.monotonicSeconds) {
            if mended.wasMisconfigured {
                metrics.lacksServerAPI(mended.bundleID, false)
                logger.notice(
                    "the app's transaction ids no longer wait for credentials", [.bundleID: "\(mended.bundleID)"])
            }
            if catalog.apps[mended.bundleID]?.serverAPI != nil {
                wake(mended.bundleID, for: ParkingReason.blockagesOfTransactions)
            }
        }
    }

    func noteAnswer(_ answer: AppleAnswer, to screened: ScreenedSubmission) {
        if Task.isCancelled { return }
        let isReceipt = if case .receipt = screened.proof.material { true } else { false }
        noteAnswer(answer, to: screened, isReceipt: isReceipt)
    }

    /// - Parameter isReceipt: verifyReceipt gave it.
    func noteAnswer(_ answer: AppleAnswer, to screened: ScreenedSubmission, isReceipt: Bool) {
        let bundleID = screened.submission.bundleID
        let reasons = isReceipt ? ParkingReason.blockagesOfReceipts : ParkingReason.blockagesOfTransactions
        let credentials = BlockedApps.Credentials(bundleID: bundleID, areForReceipts: isReceipt)
        switch answer {
        case .blocked(let blockage):
            if parking.blockedApps.noteBlocked(credentials) {
                logger.error(
                    "an app's submissions are parked: correct its settings",
                    [.bundleID: "\(bundleID)", .reason: "\(blockage.rawValue)"])
            }
        case .genuine:
            let wasBlocked = screened.item.parked.map { reasons.contains($0.reason) } ?? false
            guard parking.blockedApps.noteAnswer(credentials, wasBlocked: wasBlocked, now: WallClock.monotonicSeconds)
            else { return }
            logger.info("an app's submissions are tried again", [.bundleID: "\(bundleID)"])
            wake(bundleID, for: reasons)
        case .refused, .trouble: break
        }
    }

    private func wake(_ bundleID: BundleID, for reasons: [ParkingReason]) {
        Task { [store = parking.store, failures = metrics.failures] in
            do { try await store.retryBlocked(bundleID, for: reasons) } catch { failures.report(error, of: .parked) }
        }
    }
}
