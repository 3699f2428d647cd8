import NamesAndTimes

/// The retry state of one submission. The parked row keeps all of it except `waitedSeconds` and `failuresOfItsOwn`,
/// which limit the wait in memory.
public struct WaitingHistory: Sendable, Equatable {
    /// The number of tries that ended in trouble or in a blockage.
    public private(set) var failures: Int
    /// The number of times that Apple gave each doubtful answer.
    public private(set) var doubts: [Reason: Int]
    /// The time at which the first try ended without a verdict, or at which the submission was parked without a try;
    /// nil if neither has happened.
    public private(set) var firstFailureAt: Timestamp?
    /// The number of parkings that lengthen the delay. Each parking from memory counts. A parking after a parked
    /// submission's try counts if `ParkingPolicy.countsAgainst` is true.
    public private(set) var parkings: Int
    /// The seconds that the submission waited in memory since its first try. Time in which Apple is down does not
    /// count.
    public private(set) var waitedSeconds = 0.0
    /// The number of tries, since the submission was last read into memory, that failed while Apple was not down.
    public private(set) var failuresOfItsOwn = 0
    public var lookUps = RememberedLookUps()
    /// The last tries, for people. No rule reads them.
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

    /// Counts a try that ended without a verdict.
    public mutating func note(_ judgement: Judgement, now: Timestamp) {
        switch judgement {
        case .decided, .needs: return
        case .doubtful(let reason): doubts[reason, default: 0] += 1
        case .undecided(let trouble): failures += trouble.wasAsked ? 1 : 0
        case .blocked: failures += 1
        }
        noteTaken(now: now)
    }

    /// Stores `now` as the beginning of the submission's wait, unless the wait has begun already.
    public mutating func noteTaken(now: Timestamp) {
        if firstFailureAt == nil { firstFailureAt = now }
    }

    public mutating func noteFailureOfItsOwn() { failuresOfItsOwn += 1 }

    public mutating func noteWait(seconds: Double) { waitedSeconds += seconds }

    public mutating func noteParking() { parkings += 1 }
}
