/// The store of held transactions. All replicas share the store. Times are the database's.
///
/// Every function throws if the database is out of reach. A lease that is not released ends by itself.
public protocol HeldPurchases: Sendable {
    /// Leases up to `limit` holds: first due holds, oldest first, then holds that a worker last decided under a catalog
    /// older than `catalogVersion`. A hold is due after its release, or for its next try. Leases no suspect. A suspect
    /// is a hold whose last three leases ended without a result.
    func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold]

    /// Returns whether a suspect is due.
    func hasSuspect(catalogVersion: Int64) async throws -> Bool

    /// Leases the suspect that is due first. Leaves the suspect to an operator instead if several workers died while
    /// they tried it in isolation. Call this function while no other hold is leased.
    func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase>

    /// Stores that a death of the worker does not count against the isolated hold, because the work on the hold is
    /// about to wait.
    func clearSuspicion(of hold: LeasedHold) async throws

    /// Stores again that a death of the worker counts against the isolated hold, because the work goes on. If the lease
    /// is over, nothing happens.
    func accuse(_ hold: LeasedHold) async throws

    /// Keeps each purchase held for the reason that a worker found under version `catalogVersion` of the catalog. Skips
    /// a hold whose lease is over.
    func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws

    /// Makes the hold due again after `dueAfterSeconds`, because a try had no verdict. If the lease is over, nothing
    /// happens.
    func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws

    /// Releases the hold as if it had never been leased.
    func endLease(of hold: LeasedHold) async throws

    /// Settles a hold, and commits the result with its event in one SQL transaction.
    /// - Returns: the event; nil if the hold stays, or if the lease is over. A lease is over if another replica leased
    ///   the hold, or if an operator decided about the hold meanwhile.
    func settle(_ decision: HoldDecision) async throws -> OutcomeEvent?
}
