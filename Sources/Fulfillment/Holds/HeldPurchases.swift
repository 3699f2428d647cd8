/// The store of held transactions. All replicas share it; times are the database's.
///
/// Every function throws if the database is out of reach. A lease that is not released ends by itself.
public protocol HeldPurchases: Sendable {
    /// Leases up to `limit` holds whose wait may end: released holds and holds due for another try, oldest first, then
    /// holds that an older catalog than `catalogVersion` decided. It leases no suspect: a hold that was leased three
    /// times without a release.
    func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold]

    /// Whether a suspect is due.
    func hasSuspect(catalogVersion: Int64) async throws -> Bool

    /// Leases the suspect that is due first, or sets it aside. Call it while no other hold is leased.
    func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase>

    /// Notes that the isolated hold only waits from now on, or is about to. A death of the process does not count
    /// against it.
    func clearSuspicion(of hold: LeasedHold) async throws

    /// Notes that the hold goes on. A death of the process counts against it again. Nothing happens if the lease is
    /// over.
    func accuse(_ hold: LeasedHold) async throws

    /// Keeps these holds under this catalog, for these reasons. It skips a hold whose lease is over.
    func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws

    /// Puts off the hold after a try without a verdict. Nothing happens if the lease is over.
    func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws

    /// Releases the hold as if it had never been leased.
    func endLease(of hold: LeasedHold) async throws

    /// Settles a hold and makes it durable, with its event, in one SQL transaction.
    /// - Returns: the event; nil if the hold stays, or if the lease is over. Then another replica has it, or an
    ///   operator's decision is newer.
    func settle(_ decision: HoldDecision) async throws -> OutcomeEvent?
}
