import NamesAndTimes

/// Decides how long a submission without a verdict waits, and whether it waits in memory or in PostgreSQL.
public struct ParkingPolicy: Sendable, Equatable {
    /// The most seconds between two tries of a parked submission. Apple's `Retry-After` cannot make the wait longer,
    /// because receiptd accepts at most an hour.
    public static let longestSeconds = 6.0 * 3600
    /// The most seconds between two tries of a parked submission, as a multiple of the longest delay in memory. The
    /// shorter of this limit and `longestSeconds` counts. With the default settings they are equal.
    static let longestInMemory = 72.0
    /// The fewest seconds between two tries, even if the settings say less. So no submission keeps Apple or the
    /// processor busy.
    public static let minimumDelay = 0.01
    /// The number of tries before a blocked submission is parked. Apple's first refusal may be a passing fault, not a
    /// sign of wrong credentials.
    public static let triesWhileBlocked = 2
    /// The most submissions of one player in memory.
    public static let placesOfPlayer = 32
    /// The most parked submissions of one player with unproven proofs. A worker rejects further submissions with
    /// unproven proofs. Two batches that write at once do not count each other's rows, so the limit is not exact.
    public static let parkedOfPlayer = 20
    /// If this many tries failed while Apple was not down, the submission may fail for ever. Then an outage no longer
    /// keeps it in memory: the limit `parkAfterSeconds` applies.
    public static let failuresOfItsOwn = 3
    /// If this many tries failed in all, the limit `parkAfterSeconds` applies too. A try during an outage only probes
    /// whether Apple answers again, so its failure may come from Apple or from the submission.
    public static let failuresInOutage = 8
    /// The seconds until the last try of a submission whose workers died while they tried it alone (in isolation). The
    /// last try is isolated too. If a lack of memory or an operator ended the workers, this cause is gone by then.
    public static let lastTrySeconds = 3600.0
    /// The longest wait between two tries of a parked submission, as a share of the time since its first failure. A
    /// result below `parkAfterSeconds` counts as `parkAfterSeconds`. So no submission waits much longer than Apple's
    /// trouble lasted.
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

    /// The state of the worker and of Apple. The next step depends on it.
    public struct Circumstances: Sendable {
        /// True if the worker leased the submission from PostgreSQL. If the try has no verdict, the submission stays
        /// parked.
        public var isParked: Bool
        /// True if Apple is down. Then submissions wait in memory until `IntakeWindow` is full, and the rest wait in
        /// Kafka. A long wait alone does not park a submission.
        public var isAppleOut: Bool
        /// True if one more submission may wait in memory for its retry.
        public var hasRoom: Bool
        /// True if Apple has answered other requests lately. Then the cause of a failure is the submission itself, and
        /// its tries become rarer and rarer.
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

    /// - Parameters:
    ///   - judgement: the judgement of the try that just ended. `history` must include this try.
    ///   - jitter: a random number, uniform in 0..<1.
    public func step(
        after judgement: Judgement, _ history: WaitingHistory, _ circumstances: Circumstances, jitter: Double,
        now: Timestamp
    ) -> Step {
        let seconds = delayInMemory(after: judgement, history, jitter: jitter, now: now)
        let mayStay = !circumstances.isParked && circumstances.hasRoom
        switch judgement {
        case .decided, .needs: return .tryAgain(afterSeconds: seconds)
        // Anyone can invent a transaction id. So the submission gets no place in memory, and the player's other
        // submissions do not wait for it.
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

    /// Returns whether a try with this judgement makes the submission's next delays longer. If a parked submission's
    /// try ended in trouble, the try counts only if receiptd sent a request and Apple answered other requests.
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

    /// Returns the seconds until the next try of a parked submission. If receiptd sent no request, or if Apple answers
    /// no other request, the submission is not the cause of the trouble. Then the delay is at most the longest delay in
    /// memory.
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

    /// Returns a random delay below a ceiling (full jitter). The ceiling begins at `first` seconds and doubles with
    /// each parking.
    private func delayWhileParked(_ history: WaitingHistory, first: Double, jitter: Double) -> Double {
        let doublings = min(max(history.parkings, 0), 40)
        let longest = min(Self.longestSeconds, max(Self.minimumDelay, retry.maximumSeconds * Self.longestInMemory))
        let ceiling = min(
            longest, Double(sign: .plus, exponent: doublings, significand: max(first, Self.minimumDelay)))
        return max(min(retry.initialSeconds, ceiling), ceiling * jitter)
    }

    /// Returns the seconds until the end of Apple's `Retry-After`; 0 if there is none.
    private static func rest(_ trouble: AppleAnswer.Trouble, _ now: Timestamp) -> Double {
        trouble.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 } ?? 0
    }
}
