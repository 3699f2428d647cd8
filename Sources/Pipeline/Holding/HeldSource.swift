import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Leases holds that may end: an operator released the hold, the hold is due for another try, or a worker last judged
/// the hold under an older catalog. If a hold's last three leases ended without a result, the hold is a suspect.
struct HeldSource: IsolatingWork {
    let part = Health.Part.heldLoop
    let failingPart = FailingPart.holds
    let worker: HeldPurchaseWorker
    private let suspects: SuspectTurns
    private let logger: Logger

    let batch = PipelineLimits.holdBatch
    var parking: ParkingContext { worker.desk.parking }

    init(worker: HeldPurchaseWorker, failures: Failures, logger: Logger) {
        self.worker = worker
        self.logger = logger
        suspects = SuspectTurns(parking: worker.desk.parking, failures: failures, part: failingPart)
    }

    func nextTurn() async -> DueTurn<HeldInHand> {
        let catalog = worker.catalog()
        return await suspects.next(
            ifAny: { try await worker.holds.hasSuspect(catalogVersion: catalog.version) },
            lease: { try await leaseSuspect(under: catalog) }, inHand: { HeldInHand($0) },
            setAside: countSetAside)
    }

    /// Leases a suspect. If the newest catalog cannot end the hold, stores that the purchase stays held, and returns
    /// `none`.
    private func leaseSuspect(under catalog: Catalog) async throws -> SuspectLease<LeasedHold, SetAsidePurchase> {
        let lease = try await worker.holds.leaseSuspect(catalogVersion: catalog.version)
        guard case .isolated(let hold) = lease, let reason = reasonToStay(hold, under: catalog) else { return lease }
        // The hold did not kill the process. Without this call, a death before `keepHeld` would count against the hold.
        await SuspectTurns.clear { try await worker.holds.clearSuspicion(of: hold) }
        try await worker.holds.keepHeld([(hold, reason)], catalogVersion: catalog.version)
        return .none
    }

    /// Leases due holds. If the newest catalog cannot end a hold, stores without a request to Apple that the purchase
    /// stays held.
    func leaseDue(limit: Int) async throws -> DueBatch<HeldInHand> {
        let catalog = worker.catalog()
        let leased = try await worker.holds.leaseDue(catalogVersion: catalog.version, limit: limit)
        var staying: [(hold: LeasedHold, reason: Reason)] = []
        var open: [LeasedHold] = []
        for hold in leased {
            if let reason = reasonToStay(hold, under: catalog) {
                staying.append((hold, reason))
            } else {
                open.append(hold)
            }
        }
        if !staying.isEmpty {
            do {
                try await worker.holds.keepHeld(staying, catalogVersion: catalog.version)
            } catch {
                // No work on these holds has begun, and none of them killed this process.
                await SuspectTurns.clear {
                    for hold in leased { try await worker.holds.endLease(of: hold) }
                }
                throw error
            }
        }
        // The loop leases again at once if there may be more due holds and free slots. A hold that stays held needs no
        // slot.
        let isFull = leased.count == limit && (limit == PipelineLimits.holdBatch || !staying.isEmpty)
        // Holds of one submission share its proof.
        return DueBatch(
            open, by: \.identity, isFull: isFull, inHand: HeldInHand.init(_:sharing:))
    }

    /// Returns the reason why the purchase stays held; nil if the hold may end.
    private func reasonToStay(_ hold: LeasedHold, under catalog: Catalog) -> Reason? {
        CrashPoint.judging(hold.transactionID)
        if case .stays(let reason) = hold.outlook(under: catalog, now: WallClock.now) { return reason }
        return nil
    }

    func work(on item: HeldInHand) async throws {
        CrashPoint.passed(.submission(item.hold.submission))
        try await worker.work(on: item)
    }

    func release(_ item: HeldInHand) async throws { try await worker.holds.endLease(of: item.hold) }
    func accuse(_ item: HeldInHand) async throws { try await worker.holds.accuse(item.hold) }
    func clear(_ item: HeldInHand) async throws { try await worker.holds.clearSuspicion(of: item.hold) }

    /// Counts and logs a hold that is set aside. The player, who has paid, gets no event.
    private func countSetAside(_ purchase: SetAsidePurchase) {
        worker.desk.metrics.all.crashedPurchases.with("held").increment()
        worker.desk.metrics.all.incidents.note(.crashed, of: "a held purchase")
        logger.error(
            "a held purchase crashes the process: the purchase waits for an operator",
            [
                .transactionID: "\(purchase.transactionID)", .bundleID: "\(purchase.bundleID)",
                .count: .stringConvertible(purchase.deaths),
            ])
    }
}
