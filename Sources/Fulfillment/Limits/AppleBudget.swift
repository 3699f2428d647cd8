/// The seam to what all replicas share: the requests that may go to Apple, and until when Apple asks for none.
///
/// Times are seconds from the call's return, so that two machines' clocks are never compared.
public protocol AppleBudget: Sendable {
    /// Reserves `requests` at a rate of `perSecond`. Nil where others have reserved as far ahead as is allowed: ask
    /// again. Throws where the budget is out of reach.
    func lease(_ requests: Int, for scope: AppleScope, perSecond: Double) async throws -> BudgetLease?

    /// Holds back every replica for that many seconds, unless it is held back for longer already.
    func hold(_ scope: AppleScope, seconds: Double) async throws

    /// The scopes that are held back, and for how many seconds more.
    func holds() async throws -> [AppleScope: Double]
}

/// A slice of time that belongs to one replica: so many requests, to be sent within it.
///
/// Slices of one scope never overlap. Whatever replicas do within theirs, together they keep to the rate.
public struct BudgetLease: Sendable, Equatable {
    public let requests: Int
    /// Seconds from now.
    public let startsIn: Double
    /// Seconds.
    public let lasts: Double

    public init(requests: Int, startsIn: Double, lasts: Double) {
        self.requests = requests
        self.startsIn = startsIn
        self.lasts = lasts
    }
}
