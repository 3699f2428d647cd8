import Fulfillment
import Logging
import Operations
import PlantedFaults

extension SubmissionWorker {
    /// Nil where the player has as many places in memory as one may have.
    func enterLane(of player: PlayerID) -> PlayerLanes.Ticket? {
        parking == nil ? lanes.enter(player) : lanes.enter(player, limit: ParkingPolicy.placesOfPlayer)
    }

    /// Parks what is not even tried: it needs credentials that the app lacks, or (`blockage` is nil) its player has
    /// too many submissions in memory.
    func park(
        _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord, on desk: ParkingDesk,
        blockedBy blockage: AppleAnswer.Blockage?
    ) async throws(Abandoned) {
        if item.parked == nil, item.mayBeRedelivered {
            let query = RecallQuery(position: item.position, proof: proof.digest, mayBeRedelivered: true)
            switch try await withLedger(item, { () async throws(LedgerClosed) in try await ledger.recollect(query) }) {
            case .parked: return
            case .answered(let events):
                try await publish(events, of: item)
                return ledger.published(events.map(\.eventID))
            case .provenBefore, .nothing: break
            }
        }
        var history = item.parked?.leased.history ?? WaitingHistory()
        guard let blockage else {
            return try await park(submission, proof, item, .playerShare, nil, history, dueAfterSeconds: 0)
        }
        let judgement = Judgement.blocked(blockage)
        history.note(judgement, now: WallClock.now)
        let seconds = desk.policy.delayWhileBlocked(history, jitter: Double.random(in: 0..<1))
        try await park(
            submission, proof, item, ParkingReason(blockage), judgement, history, dueAfterSeconds: seconds)
    }

    /// Returns when the submission waits in PostgreSQL, or is answered because it may not: its offset may be passed then.
    /// - Parameter counts: whether its delays grow by this try.
    func park(
        _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord, _ reason: ParkingReason,
        _ judgement: Judgement?, _ given: WaitingHistory, dueAfterSeconds: Double, counts: Bool = true
    ) async throws(Abandoned) {
        // What a cancelled try brought is no judgement.
        guard let parking, !Task.isCancelled else { throw Abandoned() }
        var history = given
        if counts { history.noteParking() }
        history.tries = item.tries
        let detail = judgement?.parkingDetail
        if let leased = item.parked?.leased {
            return try await reschedule(leased, to: parking, reason, detail, history, dueAfterSeconds)
        }
        let parked = ParkingSubmission(
            submission: submission, position: item.position, proof: proof.digest,
            isProven: proof.isProven(of: submission.bundleID), traceparent: item.traceparent, reason: reason,
            detail: detail, history: history, dueAfterSeconds: dueAfterSeconds)
        let outcome = try await withLedger(item) { () async throws(LedgerClosed) in
            try await parking.store.park(parked)
        }
        switch outcome {
        case .parked: break
        case .tooManyWaiting: return try await rejectBeyondShare(submission, proof, item)
        }
        metrics.all.parkings.with(reason.rawValue).increment()
        logger.debug(
            "parked",
            [
                .submissionID: "\(submission.submissionID)", .bundleID: "\(submission.bundleID)",
                .reason: "\(reason.rawValue)", .detail: "\(detail ?? "")",
                .delaySeconds: .stringConvertible(dueAfterSeconds),
            ])
    }

    /// Its player has as many proofs parked that are not proven as one may have: answered and stored, so that the sender
    /// knows to send it again.
    private func rejectBeyondShare(
        _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord
    ) async throws(Abandoned) {
        guard let catalog = catalog() else { throw Abandoned() }
        guard let terms = AppTerms(of: submission.bundleID, in: catalog) else {
            return try await publish(rejected(.unknownApp, submission, proof, item), of: item)
        }
        let decision = decision(
            .whole(.tooManyWaiting, []), .trouble(.init(.rateLimited, wasAsked: false)), submission, proof, terms, item,
            isRemembered: false)
        let events = try await record(decision, of: item)
        try await publish(events, of: item)
        ledger.published(events.map(\.eventID))
    }

    private func reschedule(
        _ leased: LeasedSubmission, to desk: ParkingDesk, _ reason: ParkingReason, _ detail: String?,
        _ history: WaitingHistory, _ dueAfterSeconds: Double
    ) async throws(Abandoned) {
        do {
            if PlantedFault.parkedRowDropped.isPlanted {
                try await desk.store.delete(leased)
            } else if leased.isDue {
                try await desk.store.reschedule(
                    leased, reason: reason, detail: detail, history: history, dueAfterSeconds: dueAfterSeconds)
            } else {
                try await desk.store.endLease(of: leased)
            }
        } catch {
            // Not as if it were answered: its row must stay. Only this try is forgotten.
            metrics.failures.report(error, of: .parked)
            throw Abandoned()
        }
    }

    /// A submission that is blocked before it is tried. Nobody signs a bare transaction id, so that the app is only called
    /// misconfigured once several players sent one.
    func noteBlocked(
        _ blockage: AppleAnswer.Blockage, _ submission: Submission, _ proof: ParsedProof, in catalog: Catalog
    ) {
        guard let parking, case .transactionID = proof.material, let app = catalog.apps[submission.bundleID],
            app.serverAPI == nil
        else { return }
        let (isMisconfigured, isNews) = parking.missingCredentials.note(
            submission.bundleID, player: submission.playerID, proof: proof.digest, now: WallClock.monotonicSeconds)
        guard isMisconfigured else { return }
        metrics.lacksServerAPI(submission.bundleID, true)
        guard isNews else { return }
        logger.error(
            "transaction ids are parked: the app has no App Store Server API credentials",
            [.bundleID: "\(submission.bundleID)", .reason: "\(blockage.rawValue)"])
    }

    /// Ends what a mended catalog ends.
    func noteMended(on desk: ParkingDesk) {
        guard let catalog = catalog() else { return }
        for mended in desk.missingCredentials.mended(catalog, now: WallClock.monotonicSeconds) {
            if mended.wasMisconfigured {
                metrics.lacksServerAPI(mended.bundleID, false)
                logger.notice(
                    "the app's transaction ids no longer wait for credentials", [.bundleID: "\(mended.bundleID)"])
            }
            if catalog.apps[mended.bundleID]?.serverAPI != nil {
                wake(mended.bundleID, for: ParkingReason.blockagesOfTransactions, on: desk)
            }
        }
    }

    /// What Apple's answer tells of others than this submission.
    func noteAnswer(_ answer: AppleAnswer, to proof: ParsedProof, _ bundleID: BundleID, _ item: InFlightRecord) {
        guard let parking, !Task.isCancelled else { return }
        let isReceipt = if case .receipt = proof.material { true } else { false }
        let reasons = isReceipt ? ParkingReason.blockagesOfReceipts : ParkingReason.blockagesOfTransactions
        let credentials = BlockedApps.Credentials(bundleID: bundleID, areForReceipts: isReceipt)
        switch answer {
        case .blocked(let blockage):
            if parking.blockedApps.noteBlocked(credentials) {
                logger.error(
                    "an app's submissions are parked: its settings are to be mended",
                    [.bundleID: "\(bundleID)", .reason: "\(blockage.rawValue)"])
            }
        case .genuine:
            let wasBlocked = item.parked.map { reasons.contains($0.leased.reason) } ?? false
            guard parking.blockedApps.noteAnswer(credentials, wasBlocked: wasBlocked, now: WallClock.monotonicSeconds)
            else { return }
            logger.info("an app's submissions are tried again", [.bundleID: "\(bundleID)"])
            wake(bundleID, for: reasons, on: parking)
        case .refused, .trouble: break
        }
    }

    private func wake(_ bundleID: BundleID, for reasons: [ParkingReason], on desk: ParkingDesk) {
        Task { [store = desk.store, failures = metrics.failures] in
            do { try await store.retryBlocked(bundleID, for: reasons) } catch { failures.report(error, of: .parked) }
        }
    }
}

extension Judgement {
    /// One word for the operator.
    fileprivate var parkingDetail: String? {
        switch self {
        case .undecided(let trouble): trouble.kind.rawValue
        case .doubtful(let reason): reason.rawValue
        case .blocked, .decided: nil
        }
    }
}
