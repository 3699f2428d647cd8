import Clocks
import Fulfillment
import Operations

/// Held transactions whose hold may end: released by an operator, due for another try, or decided by an older catalog.
struct HeldSource: LeaseSource {
    let part = Health.Part.heldLoop
    let failingPart = FailingPart.holds
    let batch = PipelineLimits.holdBatch
    let worker: SubmissionWorker

    func nextTurn() async -> LeaseTurn { worker.catalog() == nil ? .nothing : .due }

    /// Those that the newest catalog cannot let go stay held, without a question to Apple.
    func leaseDue(limit: Int) async throws -> LeasedBatch {
        guard let catalog = worker.catalog() else { return LeasedBatch() }
        let leased = try await worker.holds.leaseDue(catalogVersion: catalog.version, limit: limit)
        var staying: [(hold: LeasedHold, reason: Reason)] = []
        var open: [LeasedHold] = []
        for hold in leased {
            if case .stays(let reason) = hold.outlook(under: catalog, now: WallClock.now) {
                staying.append((hold, reason))
            } else {
                open.append(hold)
            }
        }
        if !staying.isEmpty { try await worker.holds.keepHeld(staying, catalogVersion: catalog.version) }
        // With few slots, only what took none of them calls for haste.
        let isFull = leased.count == limit && (limit == batch || !staying.isEmpty)
        // Holds of one submission have one proof.
        return LeasedBatch(
            open, by: \.identity, isFull: isFull, inHand: SubmissionInHand.init(held:sharing:))
    }

    /// Its try has settled it, or put it back.
    func end(_ item: SubmissionInHand) async throws {}

    func release(_ item: SubmissionInHand) async throws {
        if case .held(let hold) = item.origin { try await worker.holds.endLease(of: hold) }
    }

    func clearSuspicion(of item: SubmissionInHand) async {}
}
