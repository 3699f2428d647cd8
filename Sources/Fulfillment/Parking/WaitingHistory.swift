import NamesAndTimes

/// The tries of one submission so far. It outlives the process in the submission's parked row, but for what tells how
/// long it may stay in memory.
public struct WaitingHistory: Sendable, Equatable {
    /// Tries that ended in trouble or at a blockage.
    public private(set) var failures: Int
    /// The number of times that Apple gave each answer that it may take back.
    public private(set) var doubts: [Reason: Int]
    /// The time at which the first try ended without a verdict, or it was parked before any; nil if all is still to
    /// come.
    public private(set) var firstFailureAt: Timestamp?
    /// The number of times that it came back from memory, or from a try of a parked one, to PostgreSQL.
    public private(set) var parkings: Int
    /// Waited in memory since the first try ended. An outage of Apple as a whole does not count.
    public private(set) var waitedSeconds = 0.0
    /// Tries from memory that failed while Apple answered others.
    public private(set) var failuresOfItsOwn = 0
    /// Transactions that need no look-up any more: what a further question brought.
    public var lookedUp: Set<StoreTransactionID> = []
    /// The last tries, for people: they decide nothing.
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

    /// A try ended without a verdict.
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
