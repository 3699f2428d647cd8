/// The limits that all replicas share: the rate of requests to Apple, and the pauses that Apple asks for.
///
/// Every time is given in seconds from now, so that nobody compares two machines' clocks.
public protocol AppleBudget: Sendable {
    /// Reserves `requests` at a rate of `perSecond`. Returns nil if other replicas have reserved as far ahead as is
    /// allowed; the caller then asks again. Throws if the budget is out of reach.
    func lease(_ requests: Int, for scope: AppleScope, perSecond: Double) async throws -> BudgetLease?

    /// Holds back every replica's requests of a scope for `seconds`. A longer hold stays in force. Throws if the budget
    /// is out of reach.
    func hold(_ scope: AppleScope, seconds: Double) async throws

    /// Returns the scopes that are held back, with the seconds that remain. Throws if the budget is out of reach.
    func holds() async throws -> [AppleScope: Double]
}

/// A slice of time that belongs to one replica, with the number of requests to send within it.
///
/// Slices of one scope never overlap, so that all replicas together keep to the rate.
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
