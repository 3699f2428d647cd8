import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Delivers announced purchases that nobody submitted. If the evidence of a purchase is not enough, the loop also asks
/// Apple.
///
/// After a batch the loop delivers one suspect alone, if there is one. If there is none, it searches again after a few
/// seconds. A suspect is a purchase that may have killed earlier workers. Before the loop reads the suspect, the
/// database stores that a death of the process counts against the suspect.
struct AnnouncedLoop: LeasingLoop {
    let part = Health.Part.announcedLoop
    let failingPart = FailingPart.announced
    let worker: SubmissionWorker
    let announced: any AnnouncedPurchases
    let health: Health
    let logger: Logger
    let state = LeasingState()
    private let nextSuspectLook = NextLook()

    /// Delivers one batch. A delivery is one SQL transaction, which a stopping process finishes.
    func turn(_ group: inout DiscardingTaskGroup) async -> Double? {
        guard worker.parking.leases.isOpen else { return PipelineLimits.leaseSeconds }
        let catalog = worker.catalog()
        let isMoreDue = await lease {
            let leased = try await announced.leaseDue(under: catalog, limit: PipelineLimits.announcedBatch)
            try await deliver(leased, under: catalog)
            let hadSuspect = try await lookForSuspect(under: catalog)
            return leased.count == PipelineLimits.announcedBatch || hadSuspect
        }
        return isMoreDue == true ? nil : PipelineLimits.leaseSeconds
    }

    private func deliver(_ leased: [LeasedAnnouncement], under catalog: Catalog) async throws {
        guard !leased.isEmpty else { return }
        let outcomes: [AnnouncedOutcome]
        do {
            for one in leased { CrashPoint.judging(one.purchase.purchase.transactionID) }
            outcomes = try await announced.deliver(leased, under: catalog, at: WallClock.now)
        } catch {
            await forgive(leased)
            throw error
        }
        CrashPoint.delivered.reached()
        try await tell(outcomes)
        try await deliver(await askedByName(leased, besides: outcomes, under: catalog), under: catalog)
    }

    /// Delivers a suspect if a search for suspects is due. Returns false if the loop found no suspect.
    private func lookForSuspect(under catalog: Catalog) async throws -> Bool {
        guard nextSuspectLook.isDue else { return false }
        let hadSuspect = try await deliverSuspect(under: catalog)
        if !hadSuspect { nextSuspectLook.putOff(seconds: PipelineLimits.suspectSeconds) }
        return hadSuspect
    }

    /// Leases a suspect and delivers it. Returns false if there is no suspect.
    private func deliverSuspect(under catalog: Catalog) async throws -> Bool {
        switch try await announced.leaseSuspect(under: catalog) {
        case .none: return false
        case .setAside(let purchase): countSetAside(purchase)
        case .isolated(let one):
            // If the purchase kills the process, it should do so in this rehearsal, where a death still counts against
            // it. After `forgive` no death counts.
            CrashPoint.judging(one.purchase.purchase.transactionID)
            one.rehearse(under: catalog, at: WallClock.now)
            await forgive([one])
            try await deliver([one], under: catalog)
        }
        return true
    }

    /// Clears the suspicion that leasing put on these purchases. This process is alive, so none of them has killed it.
    func forgive(_ leased: [LeasedAnnouncement]) async {
        await SuspectTurns.clear { try await announced.forgive(leased) }
    }

    private func countSetAside(_ purchase: SetAsidePurchase) {
        let (state, reason) = (AnnouncedOutcome.State.unclaimed, UnclaimedReason.crashed)
        worker.metrics.all.announced.with(purchase.source.rawValue, state.rawValue, reason.rawValue).increment()
        worker.metrics.all.crashedPurchases.with("announced").increment()
        worker.metrics.all.incidents.note(.crashed, of: "an announced purchase")
        logger.error(
            "an announced purchase crashes the process: the purchase is unclaimed until an operator retries it",
            [
                .transactionID: "\(purchase.transactionID)", .bundleID: "\(purchase.bundleID)",
                .count: .stringConvertible(purchase.deaths),
            ])
    }

    private func tell(_ outcomes: [AnnouncedOutcome]) async throws(Abandoned) {
        for outcome in outcomes {
            worker.metrics.all.announced.with(outcome.source.rawValue, outcome.state.rawValue, outcome.reason ?? "")
                .increment()
        }
        let events = outcomes.flatMap(\.events).map { TracedEvent(event: $0) }
        try await worker.publication.publish(events, then: .deliveryPublished)
    }
}
