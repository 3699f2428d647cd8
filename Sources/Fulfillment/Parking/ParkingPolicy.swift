import NamesAndTimes

/// Decides how long a submission without a verdict waits, and whether it waits in memory or in PostgreSQL.
public struct ParkingPolicy: Sendable, Equatable {
    /// The most seconds between two tries of a parked submission, unless Apple's `Retry-After` is longer.
    public static let longestSeconds = 6.0 * 3600
    /// The same limit as a multiple of the longest delay in memory. The shorter of the two counts. With the default
    /// settings they are equal.
    static let longestInMemory = 72.0
    /// The fewest seconds between two tries, whatever the settings say, so that Apple and the processor have a rest.
    public static let minimumDelay = 0.01
    /// The number of tries before a blocked submission is parked. A passing fault must not look like wrong credentials.
    public static let triesWhileBlocked = 2
    /// The most submissions of one player in memory.
    public static let placesOfPlayer = 32
    /// The most parked submissions of one player with unproven proofs. Further unproven ones are rejected; further
    /// proven ones are tried one after the other. Two batches that are written at once do not count each other's rows.
    public static let parkedOfPlayer = 20
    /// The number of tries, failed while Apple was not down, after which a submission leaves memory even during an
    /// outage. Such a submission may fail for ever.
    public static let failuresOfItsOwn = 3
    /// The number of failed tries in all after which a submission leaves memory during an outage. As a probe, the
    /// submission may have failed because of itself or because of Apple.
    public static let failuresInOutage = 8
    /// The seconds until a submission that killed workers in isolation is tried once more in isolation. If a lack of
    /// memory or an operator killed the workers, the cause is gone by then.
    public static let lastTrySeconds = 3600.0
    /// The longest wait of a parked submission, as a share of the time since its first failure, and at least
    /// `parkAfterSeconds`. So no submission waits much longer than Apple's trouble lasted.
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

    /// The state of the worker and of Apple on which the next step depends.
    public struct Circumstances: Sendable {
        /// True if the submission was leased from PostgreSQL. It then returns there.
        public var isParked: Bool
        /// True if Apple is down. Submissions then wait in memory until the window is full, and Kafka keeps the rest:
        /// the length of the wait alone parks none.
        public var isAppleOut: Bool
        /// True if one more retrying submission may stay in memory.
        public var hasRoom: Bool
        /// True if Apple has answered other requests lately. A failing submission is then the cause itself, and is
        /// tried more and more rarely.
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
        // Anyone can invent a transaction id. The submission takes no place in memory and does not hold up its player.
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

    /// Returns whether a try with this judgement makes the submission's next delays longer. A parked submission's try
    /// in Apple's trouble does so only if Apple answered other requests.
    public static func countsAgainst(_ judgement: Judgement, _ circumstances: Circumstances) -> Bool {
        guard circumstances.isParked, case .undecided(let trouble) = judgement else { return true }
        return trouble.wasAsked && circumstances.answersOthers
    }

    /// Returns the seconds until the next try of a submission that waits for an operator to mend the settings.
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

    /// Returns the seconds until the next try of a parked submission. If Apple was not asked or answers no other
    /// request, the submission is not the cause, and the delay is at most the longest one in memory.
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

    /// Returns an exponential delay with full jitter. It begins at `first` and doubles with each parking.
    private func delayWhileParked(_ history: WaitingHistory, first: Double, jitter: Double) -> Double {
        let doublings = min(max(history.parkings, 0), 40)
        let longest = min(Self.longestSeconds, max(Self.minimumDelay, retry.maximumSeconds * Self.longestInMemory))
        let ceiling = min(
            longest, Double(sign: .plus, exponent: doublings, significand: max(first, Self.minimumDelay)))
        return max(min(retry.initialSeconds, ceiling), ceiling * jitter)
    }

    /// Returns the seconds until the end of Apple's `Retry-After`; 0 without one.
    private static func rest(_ trouble: AppleAnswer.Trouble, _ now: Timestamp) -> Double {
        trouble.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 } ?? 0
    }
}
