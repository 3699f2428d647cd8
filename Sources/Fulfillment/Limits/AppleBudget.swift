/// The limits that all replicas share: the rate of requests to Apple, and the pauses that Apple asks for.
///
/// Every time is in seconds from now, so that the clocks of two machines need not agree. Every function throws if the
/// budget is out of reach.
public protocol AppleBudget: Sendable {
    /// Reserves a slice of time for `requests` requests at a rate of `perSecond`. Returns nil if the replicas have
    /// already reserved as far ahead as they may. The caller then tries again later.
    func lease(_ requests: Int, for scope: AppleScope, perSecond: Double) async throws -> BudgetLease?

    /// Makes every replica send no request of a scope for `seconds`. If the scope already has a longer pause, nothing
    /// changes.
    func hold(_ scope: AppleScope, seconds: Double) async throws

    /// Returns the scopes that are held back, with the seconds that remain.
    func holds() async throws -> [AppleScope: Double]
}

/// A slice of time for one replica, with the number of requests that the replica may send in the slice.
///
/// The slices of a scope never overlap, so that all replicas together do not exceed the rate.
public struct BudgetLease: Sendable, Equatable {
    public let requests: Int
    /// The seconds from now to the slice's beginning.
    public let startsIn: Double
    /// The length of the slice in seconds.
    public let lasts: Double

    public init(requests: Int, startsIn: Double, lasts: Double) {
        self.requests = requests
        self.startsIn = startsIn
        self.lasts = lasts
    }
}
