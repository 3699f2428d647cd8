import NamesAndTimes

/// The schedule of checks of subscriptions.
public struct CheckSchedule: Sendable, Equatable {
    /// The milliseconds from the end of a period, or of its grace period, to the first check. Apple's notification of
    /// the end usually comes earlier.
    var afterEnd: Int64
    /// The milliseconds between the first two checks. Each later distance is twice the distance before it.
    var firstDistance: Int64
    var longestDistance: Int64
    /// The time after a period's end during which workers check the subscription, in milliseconds.
    var longest: Int64
    /// If a newer period begins at most this many milliseconds before or after the known period's end, no period can be
    /// missing in between.
    var punctuality: Int64

    private static let minute: Int64 = 60_000
    private static let hour = 60 * minute

    /// Production's schedule. Apple tries to renew for 60 days.
    static let production = CheckSchedule(
        afterEnd: 5 * minute, firstDistance: 30 * minute, longestDistance: 24 * hour, longest: 60 * 24 * hour,
        punctuality: hour)
    /// The sandbox's schedule. This schedule is shorter, because a subscription's month in the sandbox lasts minutes.
    static let sandbox = CheckSchedule(
        afterEnd: 5_000, firstDistance: minute, longestDistance: 4 * hour, longest: 24 * hour,
        punctuality: 30_000)

    public static func of(_ environment: StoreEnvironment) -> CheckSchedule {
        environment == .production ? production : sandbox
    }

    /// The largest random addition to a distance, as a share of the distance. So the checks of subscriptions that ended
    /// together come at different times.
    static let spread = 0.5

    /// - Parameters:
    ///   - tries: the number of checks since the subscription last changed.
    ///   - jitter: a random number, uniform in 0..<1.
    func distance(tries: Int32, jitter: Double) -> Int64 {
        let doublings = min(max(tries, 0), 20)
        let distance = min(longestDistance, firstDistance << Int64(doublings))
        return Self.spread(distance, jitter)
    }

    func delayAfterEnd(jitter: Double) -> Int64 { Self.spread(afterEnd, jitter) }

    private static func spread(_ milliseconds: Int64, _ jitter: Double) -> Int64 {
        milliseconds + Int64(Double(milliseconds) * spread * jitter)
    }
}

extension Subscription {
    /// Sets the time of the next check after receiptd got new facts. If a fact already answers a due check, postpones
    /// the check.
    /// - Parameters:
    ///   - hearing: the effect of the facts.
    ///   - isCheck: true if the facts are Apple's answer to a check.
    ///   - goesOn: true if the worker has read a part of the account's history and must read the rest next.
    ///   - retryAt: the time of the next check if this check could not read the account's history; nil otherwise.
    ///   - jitter: a random number, uniform in 0..<1.
    public mutating func scheduleCheck(
        after hearing: Hearing, isCheck: Bool, goesOn: Bool = false, retryAt: Timestamp? = nil, at now: Timestamp,
        jitter: Double
    ) {
        if hearing == .known, !isCheck { return }
        if hearing == .changed { check.tries = 0 } else if isCheck, retryAt == nil { check.tries += 1 }
        if let retryAt {
            check.dueAt = retryAt
            return
        }
        check.dueAt = nextCheck(isCheck: isCheck, at: now, jitter: jitter)
        if check.historySince != nil || check.periodsSince != nil,
            let search = nextSearch(isCheck: isCheck && !goesOn, at: now, jitter: jitter)
        {
            check.dueAt = min(check.dueAt ?? search, search)
        }
    }

    /// Returns the time of the next search for missed periods. If a check did not complete the search, the time lies at
    /// a growing distance from now; otherwise it is now. Returns nil if workers no longer search.
    private func nextSearch(isCheck: Bool, at now: Timestamp, jitter: Double) -> Timestamp? {
        guard isCheck else { return now }
        let schedule = CheckSchedule.of(environment)
        let next = now.adding(milliseconds: schedule.distance(tries: check.tries, jitter: jitter))
        guard let end = expiresAt, next < end.adding(milliseconds: schedule.longest) else { return nil }
        return next
    }

    private func nextCheck(isCheck: Bool, at now: Timestamp, jitter: Double) -> Timestamp? {
        // Workers do not check a subscription that is over. If only the transaction of one period shows that the
        // subscription is over, workers check it once, because Apple may have a later period.
        if state.isOver, isCheck || told.stateAt != nil { return nil }
        guard let end = expiresAt else { return nil }
        let schedule = CheckSchedule.of(environment)
        let afterEnd = schedule.delayAfterEnd(jitter: jitter)
        if state.isOver || (state == .active && (end > now || !isCheck)) {
            return max(end, now).adding(milliseconds: afterEnd)
        }
        let next = now.adding(milliseconds: schedule.distance(tries: check.tries, jitter: jitter))
        guard next < end.adding(milliseconds: schedule.longest) else { return nil }
        if state == .gracePeriod, let grace = graceExpiresAt, grace > now {
            return min(next, grace.adding(milliseconds: afterEnd))
        }
        return next
    }
}
