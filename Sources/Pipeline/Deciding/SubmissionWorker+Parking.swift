import Fulfillment
import Logging
import NamesAndTimes
import Operations
import PlantedFaults

extension SubmissionWorker {
    /// Returns a new ticket; nil if the player already has as many submissions in memory as allowed.
    func enterLane(of player: PlayerID) -> PlayerLanes.Ticket? {
        lanes.enter(player, limit: ParkingPolicy.placesOfPlayer)
    }

    /// Parks a submission without a try. Either its app has no credentials (`blockage`), its player has too many
    /// submissions in memory, or the submission killed its workers.
    func parkUntried(
        _ screened: ScreenedSubmission, blockedBy blockage: AppleAnswer.Blockage?
    ) async throws(Abandoned) {
        let item = screened.item
        if !item.isParked, try await isAnsweredAgain(item, screened.proof.digest) { return }
        if item.isSetAside { noteSetAside(item) }
        try await park(screened, planUntried(screened, blockedBy: blockage))
    }

    /// Counts and logs a submission that is set aside. Its sender gets no event, because receiptd must not reject a
    /// paying player for a fault of receiptd.
    private func noteSetAside(_ item: SubmissionInHand) {
        metrics.all.incidents.note(.crashed, of: "a record")
        logger.error(
            "a record crashes the process: the worker parks it, and will try it once more in isolation",
            item.traced([
                .topic: "\(item.position.topic)", .partition: .stringConvertible(item.position.partition),
                .offset: .stringConvertible(item.position.offset),
                .delaySeconds: .stringConvertible(ParkingPolicy.lastTrySeconds),
            ]))
    }

    private func planUntried(
        _ screened: ScreenedSubmission, blockedBy blockage: AppleAnswer.Blockage?
    ) -> ParkingPlan {
        var history = screened.item.parked?.history ?? WaitingHistory()
        history.noteTaken(now: WallClock.now)
        var plan: ParkingPlan
        if screened.item.isSetAside {
            plan = .lastTry(history)
        } else if let blockage {
            let judgement = Judgement.blocked(blockage)
            history.note(judgement, now: WallClock.now)
            let seconds = parking.policy.delayWhileBlocked(history, jitter: Double.random(in: 0..<1))
            plan = ParkingPlan(ParkingReason(blockage), after: judgement, history, dueAfterSeconds: seconds)
        } else {
            plan = ParkingPlan(.playerShare, after: nil, history, dueAfterSeconds: 0)
        }
        plan.history.noteParking()
        return plan
    }

    /// Parks the submission, or rejects it if it may not wait. Returns once the result is durable, so that the record's
    /// offset may be committed.
    func park(_ screened: ScreenedSubmission, _ plan: ParkingPlan) async throws(Abandoned) {
        // The answer of a cancelled try does not count.
        if Task.isCancelled { throw Abandoned() }
        let (item, submission, proof) = (screened.item, screened.submission, screened.proof)
        var plan = plan
        plan.history.tries = item.tries
        if let leased = item.parked { return try await putBack(leased, plan) }
        let terms = catalog().terms[submission.bundleID]
        let parked = ParkingSubmission(
            submission: submission, position: item.position, proof: proof.digest,
            isProven: proof.isProven(of: submission.bundleID), evidence: terms == nil ? nil : proof.evidence,
            cutover: terms?.app.cutover, traceparent: item.traceparent, reason: plan.reason, detail: plan.detail,
            history: plan.history, dueAfterSeconds: plan.dueAfterSeconds)
        let outcome = try await withLedger(item) { () async throws(LedgerClosed) in
            try await parking.store.park(parked)
        }
        switch outcome {
        case .parked: break
        case .tooManyWaiting: return try await rejectBeyondShare(screened)
        }
        metrics.all.parkings.with(plan.reason.rawValue).increment()
        logger.debug(
            "parked",
            item.traced([
                .submissionID: "\(submission.submissionID)", .bundleID: "\(submission.bundleID)",
                .reason: "\(plan.reason.rawValue)", .detail: "\(plan.detail ?? "")",
                .delaySeconds: .stringConvertible(plan.dueAfterSeconds),
            ]))
    }

    private func putBack(_ leased: LeasedSubmission, _ plan: ParkingPlan) async throws(Abandoned) {
        do {
            try await Suspected.waiting {
                if PlantedFault.parkedRowDropped.isPlanted {
                    try await parking.store.delete(leased)
                } else if leased.isDue {
                    try await parking.store.reschedule(
                        leased, reason: plan.reason, detail: plan.detail, history: plan.history,
                        dueAfterSeconds: plan.dueAfterSeconds)
                } else {
                    try await parking.store.endLease(of: leased)
                }
            }
        } catch {
            // The row stays as it was before this try.
            metrics.failures.report(error, of: .parked)
            throw Abandoned()
        }
    }

    /// Rejects a submission because its player, or the fleet, has too many parked submissions with unproven proofs. The
    /// rejection is stored and published, so that the game server can send the submission again.
    private func rejectBeyondShare(_ screened: ScreenedSubmission) async throws(Abandoned) {
        guard let terms = catalog().terms[screened.submission.bundleID] else {
            return try await publish(rejected(screened, for: .unknownApp), of: screened.item, .decided)
        }
        let answer = ProofAnswer(
            answer: .trouble(.init(.rateLimited, wasAsked: false)), isRemembered: false, terms: terms)
        let events = try await record(.whole(.tooManyWaiting, []), on: screened, by: answer)
        try await publishRecorded(events, of: screened.item)
    }
}
