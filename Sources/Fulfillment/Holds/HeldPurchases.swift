/// The store of held transactions. Shared by all replicas; times are the database's. Every function throws where the
/// database is out of reach; a lease that is not released ends by itself.
public protocol HeldPurchases: Sendable {
    /// Leases up to `limit` whose wait may end: released ones and such as are due for another try, oldest first, then
    /// those decided by an older catalog than `catalogVersion`. None that was leased three times without a release: those
    /// are suspects.
    func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold]

    /// Whether a suspect is due.
    func hasSuspect(catalogVersion: Int64) async throws -> Bool

    /// Leases the suspect that is due first, or sets it aside. To be called while no other is leased.
    func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase>

    /// The isolated hold only waits from now on, or is about to: a death of the process no longer counts against it.
    func clearSuspicion(of hold: LeasedHold) async throws

    /// Notes that the hold goes on: a death of the process is counted against it again. Nothing happens where the lease
    /// is over.
    func accuse(_ hold: LeasedHold) async throws

    /// Keeps these holds under this catalog, for these reasons. Nothing happens to one whose lease is over.
    func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws

    /// No verdict: to be tried again. Nothing happens where the lease is over.
    func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws

    /// Releases one as if it had never been leased.
    func endLease(of hold: LeasedHold) async throws

    /// Settles a hold and makes it durable, with its event, in one SQL transaction. Returns the event, nil where it
    /// stays held, or where the lease is over: then somebody else has it, or an operator's decision is newer.
    func settle(_ decision: HoldDecision) async throws -> OutcomeEvent?
}
