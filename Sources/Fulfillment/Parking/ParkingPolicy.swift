import NamesAndTimes

/// Decides where a submission without a verdict waits, and how long: in memory, or parked in PostgreSQL.
public struct ParkingPolicy: Sendable, Equatable {
    /// The longest time between two tries of a parked submission that Apple itself keeps failing. Seconds.
    public static let longestSeconds = 6.0 * 3600
    /// The same time as a multiple of the longest delay in memory. With the default settings both are equal; the
    /// shorter one counts.
    static let longestInMemory = 72.0
    /// The shortest delay, in seconds, whatever the settings say. Apple and the processor need a rest.
    public static let minimumDelay = 0.01
    /// Tries before a blocked submission is parked: a passing fault must not look like wrong credentials.
    public static let triesWhileBlocked = 2
    /// The most submissions of one player in memory.
    public static let placesOfPlayer = 32
    /// The most parked submissions of one player with unproven proofs. Further ones are rejected. Further proven ones
    /// are tried one after the other. Batches that are written at the same moment do not count each other.
    public static let parkedOfPlayer = 20
    /// The number of tries that failed while Apple answered other submissions, after which a submission leaves memory
    /// during the outage. It may fail for ever.
    public static let failuresOfItsOwn = 3
    /// The same while Apple answered nobody. The submission was a probe so often, and nobody knows whether others would
    /// be answered.
    public static let failuresInOutage = 8
    /// The seconds until a submission that killed its workers in isolation is tried once more in isolation. If a lack
    /// of memory or an operator killed the workers, that has passed by then.
    public static let lastTrySeconds = 3600.0
    /// The longest wait of a parked submission, as a share of the time for which it has failed; at least the time that
    /// memory keeps one. So each finds the end of Apple's trouble in time.
    static let shareOfAge = 0.5

    public var retry: RetryDelay
    /// The most seconds that a submission waits in memory.
    public var parkAfterSeconds: Double

    public init(retry: RetryDelay = RetryDelay(), parkAfterSeconds: Double = 30) {
        self.retry = retry
        self.parkAfterSeconds = parkAfterSeconds
    }

    public enum Step: Sendable, Equatable {
        case tryAgain(afterSeconds: Double)
        case park(ParkingReason, dueAfterSeconds: Double)
    }

    /// The circumstances that count besides the submission.
    public struct Circumstances: Sendable {
        /// True if it came from PostgreSQL, to which it returns.
        public var isParked: Bool
        /// True if Apple answers nobody. Waiting submissions fill the window, Kafka keeps the rest, and that time parks
        /// nothing.
        public var isAppleOut: Bool
        /// True if one more retrying submission may stay in memory.
        public var hasRoom: Bool
        /// True if Apple has answered others lately. A submission then fails by itself, and is tried more and more
        /// rarely.
        public var answersOthers: Bool

        public init(
            isParked: Bool = false, isAppleOut: Bool = false, hasRoom: Bool = true, answersOthers: Bool = true
        ) {
            self.isParked = isParked
            self.isAppleOut = isAppleOut
            self.hasRoom = hasRoom
            self.answersOthers = answersOthers
        }
    }

    /// Returns the next step of the submission.
    /// - Parameters:
    ///   - judgement: the judgement of the try that just ended, already noted in `history`.
    ///   - jitter: a number drawn evenly from 0..<1.
    public func step(
        after judgement: Judgement, _ history: WaitingHistory, _ circumstances: Circumstances, jitter: Double,
        now: Timestamp
    ) -> Step {
        let seconds = delayInMemory(after: judgement, history, jitter: jitter, now: now)
        let mayStay = !circumstances.isParked && circumstances.hasRoom
        switch judgement {
        case .decided, .needs: return .tryAgain(afterSeconds: seconds)
        // Anyone can invent an id: it takes no place in memory, and does not hold up its player.
        case .doubtful(.transactionNotFound): return .park(.doubt, dueAfterSeconds: seconds)
        case .doubtful:
            if mayStay, seconds <= parkAfterSeconds { return .tryAgain(afterSeconds: seconds) }
            return .park(.doubt, dueAfterSeconds: seconds)
        case .blocked(let blockage):
            if mayStay, history.failures < Self.triesWhileBlocked, seconds <= parkAfterSeconds {
                return .tryAgain(afterSeconds: seconds)
            }
            return .park(ParkingReason(blockage), dueAfterSeconds: delayWhileBlocked(history, jitter: jitter))
        case .undecided(let trouble):
            if circumstances.isParked {
                let due = delayWhileParked(history, trouble, circumstances, jitter: jitter, now: now)
                return .park(.appleTrouble, dueAfterSeconds: max(due, Self.rest(trouble, now)))
            }
            let waitsForReturn =
                circumstances.isAppleOut && history.failuresOfItsOwn < Self.failuresOfItsOwn
                && history.failures < Self.failuresInOutage
            let isInTime = waitsForReturn || history.waitedSeconds + seconds <= parkAfterSeconds
            if mayStay, isInTime { return .tryAgain(afterSeconds: seconds) }
            let due = min(seconds, longestByAge(history, now))
            return .park(.appleTrouble, dueAfterSeconds: max(due, Self.rest(trouble, now)))
        }
    }

    /// Returns whether a try with this judgement makes the next delays of a parked submission longer. It does if Apple
    /// answered others.
    public static func countsAgainst(_ judgement: Judgement, _ circumstances: Circumstances) -> Bool {
        guard circumstances.isParked, case .undecided(let trouble) = judgement else { return true }
        return trouble.wasAsked && circumstances.answersOthers
    }

    /// Returns the seconds until the next try of a submission that only the operator can help.
    public func delayWhileBlocked(_ history: WaitingHistory, jitter: Double) -> Double {
        delayWhileParked(history, first: max(parkAfterSeconds, retry.maximumSeconds), jitter: jitter)
    }

    /// Returns the seconds until the next try of a submission that stays in memory.
    public func delayInMemory(
        after judgement: Judgement, _ history: WaitingHistory, jitter: Double, now: Timestamp
    ) -> Double {
        switch judgement {
        case .doubtful(.transactionNotFound):
            return RetryDelay.whileUnknown(doubts: history.doubts[.transactionNotFound, default: 1])
        case .doubtful: return max(Self.minimumDelay, retry.inDoubt)
        case .undecided(let trouble):
            return max(
                Self.minimumDelay, retry.afterTrouble(failures: history.failures, jitter: jitter),
                Self.rest(trouble, now))
        case .blocked, .decided, .needs:
            return max(Self.minimumDelay, retry.afterTrouble(failures: max(1, history.failures), jitter: jitter))
        }
    }

    /// Returns the seconds until the next try. While Apple answers nobody, or was not asked, a late try misses nothing,
    /// so that the usual longest delay holds.
    private func delayWhileParked(
        _ history: WaitingHistory, _ trouble: AppleAnswer.Trouble, _ circumstances: Circumstances, jitter: Double,
        now: Timestamp
    ) -> Double {
        let delay = min(
            delayWhileParked(history, first: parkAfterSeconds, jitter: jitter), longestByAge(history, now))
        if trouble.wasAsked, circumstances.answersOthers { return delay }
        return min(delay, max(Self.minimumDelay, retry.maximumSeconds * (0.5 + jitter / 2)))
    }

    private func longestByAge(_ history: WaitingHistory, _ now: Timestamp) -> Double {
        guard let first = history.firstFailureAt else { return .infinity }
        let age = Double(now.milliseconds - first.milliseconds) / 1000
        return max(parkAfterSeconds, Self.minimumDelay, age * Self.shareOfAge)
    }

    /// Returns an exponential delay with full jitter that goes on where memory left off.
    private func delayWhileParked(_ history: WaitingHistory, first: Double, jitter: Double) -> Double {
        let doublings = min(max(history.parkings, 0), 40)
        let longest = min(Self.longestSeconds, max(Self.minimumDelay, retry.maximumSeconds * Self.longestInMemory))
        let ceiling = min(
            longest, Double(sign: .plus, exponent: doublings, significand: max(first, Self.minimumDelay)))
        return max(min(retry.initialSeconds, ceiling), ceiling * jitter)
    }

    /// Returns the seconds for which Apple asks for no requests.
    private static func rest(_ trouble: AppleAnswer.Trouble, _ now: Timestamp) -> Double {
        trouble.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 } ?? 0
    }
}
