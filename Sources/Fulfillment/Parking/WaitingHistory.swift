import NamesAndTimes

/// The tries of one submission so far. Its parked row keeps them, except the numbers that limit its stay in memory.
public struct WaitingHistory: Sendable, Equatable {
    /// The number of tries that ended in trouble or at a blockage.
    public private(set) var failures: Int
    /// The number of times that Apple gave each answer that it may take back.
    public private(set) var doubts: [Reason: Int]
    /// The time at which the first try ended without a verdict, or at which it was parked untried; nil before.
    public private(set) var firstFailureAt: Timestamp?
    /// The number of times that it returned to PostgreSQL, from memory or from a try of a parked one.
    public private(set) var parkings: Int
    /// The seconds waited in memory since the first try ended. An outage of Apple as a whole does not count.
    public private(set) var waitedSeconds = 0.0
    /// The number of tries from memory that failed while Apple answered others.
    public private(set) var failuresOfItsOwn = 0
    /// The transactions that need no further look-up, because a further question answered them.
    public var lookedUp: Set<StoreTransactionID> = []
    /// The last tries, for people. They decide nothing.
    public var tries: [AppleTry]

    public init(
        failures: Int = 0, doubts: [Reason: Int] = [:], firstFailureAt: Timestamp? = nil, parkings: Int = 0,
        tries: [AppleTry] = []
    ) {
        self.failures = failures
        self.doubts = doubts
        self.firstFailureAt = firstFailureAt
        self.parkings = parkings
        self.tries = tries
    }

    /// Notes a try that ended without a verdict.
    public mutating func note(_ judgement: Judgement, now: Timestamp) {
        switch judgement {
        case .decided, .needs: return
        case .doubtful(let reason): doubts[reason, default: 0] += 1
        case .undecided(let trouble): failures += trouble.wasAsked ? 1 : 0
        case .blocked: failures += 1
        }
        noteTaken(now: now)
    }

    /// Notes that it waits from now on, tried or not.
    public mutating func noteTaken(now: Timestamp) {
        if firstFailureAt == nil { firstFailureAt = now }
    }

    public mutating func noteFailureOfItsOwn() { failuresOfItsOwn += 1 }

    public mutating func noteWait(seconds: Double) { waitedSeconds += seconds }

    public mutating func noteParking() { parkings += 1 }
}
