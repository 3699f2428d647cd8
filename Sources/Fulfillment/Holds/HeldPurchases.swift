/// The store of held transactions. All replicas share it; times are the database's.
///
/// Every function throws if the database is out of reach. A lease that is not released ends by itself.
public protocol HeldPurchases: Sendable {
    /// Leases up to `limit` holds, oldest first: released holds and holds due for another try, then holds that an older
    /// catalog than `catalogVersion` decided. It leases no suspect: a hold that was leased three times without a
    /// release.
    func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold]

    /// Returns whether a suspect is due.
    func hasSuspect(catalogVersion: Int64) async throws -> Bool

    /// Leases the suspect that is due first, or sets it aside. Call it while no other hold is leased.
    func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase>

    /// Notes that the work on the isolated hold only waits from now on, or is about to. A death of the process then
    /// does not count against the hold.
    func clearSuspicion(of hold: LeasedHold) async throws

    /// Notes that the work on the isolated hold goes on. A death of the process counts against the hold again. Nothing
    /// happens if the lease is over.
    func accuse(_ hold: LeasedHold) async throws

    /// Keeps these purchases held for these reasons, as this catalog decides. It skips a hold whose lease is over.
    func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws

    /// Puts off the hold after a try without a verdict. Nothing happens if the lease is over.
    func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws

    /// Releases the hold as if it had never been leased.
    func endLease(of hold: LeasedHold) async throws

    /// Settles a hold and commits the result with its event, in one SQL transaction.
    /// - Returns: the event; nil if the hold stays, or if the lease is over. Then another replica has the hold, or an
    ///   operator's decision is newer.
    func settle(_ decision: HoldDecision) async throws -> OutcomeEvent?
}
