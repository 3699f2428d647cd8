import NamesAndTimes

/// The schedule of questions to Apple about subscriptions.
public struct CheckSchedule: Sendable, Equatable {
    /// The milliseconds from the end of a period, or of its grace period, to the first check. Apple's notification of
    /// the end usually comes earlier.
    var afterEnd: Int64
    /// The milliseconds between the first two checks. Each later distance is twice the one before.
    var firstDistance: Int64
    var longestDistance: Int64
    /// The milliseconds after a period's end in which workers ask Apple.
    var longest: Int64
    /// The most milliseconds between one period's end and the next period's beginning that leave no room for a period
    /// in between.
    var punctuality: Int64

    private static let minute: Int64 = 60_000
    private static let hour = 60 * minute

    /// Production's schedule. Apple tries to renew for 60 days.
    static let production = CheckSchedule(
        afterEnd: 5 * minute, firstDistance: 30 * minute, longestDistance: 24 * hour, longest: 60 * 24 * hour,
        punctuality: hour)
    /// The sandbox's schedule is shorter, because a subscription's month there lasts minutes.
    static let sandbox = CheckSchedule(
        afterEnd: 5_000, firstDistance: minute, longestDistance: 4 * hour, longest: 24 * hour,
        punctuality: 30_000)

    public static func of(_ environment: StoreEnvironment) -> CheckSchedule {
        environment == .production ? production : sandbox
    }

    /// The largest random addition to a distance, as a share of it. Subscriptions that ended together are then checked
    /// at different times.
    static let spread = 0.5

    /// - Parameters:
    ///   - tries: the number of checks since the subscription last changed.
    ///   - jitter: a number drawn evenly from 0..<1.
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
    /// Sets the time of the next check after facts came in. A fact that gives the answer to a due check makes that
    /// check needless.
    /// - Parameters:
    ///   - hearing: the effect of the facts.
    ///   - isCheck: true if the facts are Apple's answer to a check.
    ///   - goesOn: true if the worker read a part of Apple's history and must read the rest next.
    ///   - jitter: a number drawn evenly from 0..<1.
    public mutating func scheduleCheck(
        after hearing: Hearing, isCheck: Bool, goesOn: Bool = false, at now: Timestamp, jitter: Double
    ) {
        if hearing == .known, !isCheck { return }
        if hearing == .changed { check.tries = 0 } else if isCheck { check.tries += 1 }
        check.dueAt = nextCheck(isCheck: isCheck, at: now, jitter: jitter)
        if check.historySince != nil || check.periodsSince != nil,
            let search = nextSearch(isCheck: isCheck && !goesOn, at: now, jitter: jitter)
        {
            check.dueAt = min(check.dueAt ?? search, search)
        }
    }

    /// Returns the time of the next question about missed periods: now, or at a growing distance after a check that did
    /// not complete the search. Returns nil if workers no longer ask.
    private func nextSearch(isCheck: Bool, at now: Timestamp, jitter: Double) -> Timestamp? {
        guard isCheck else { return now }
        let schedule = CheckSchedule.of(environment)
        let next = now.adding(milliseconds: schedule.distance(tries: check.tries, jitter: jitter))
        guard let end = expiresAt, next < end.adding(milliseconds: schedule.longest) else { return nil }
        return next
    }

    private func nextCheck(isCheck: Bool, at now: Timestamp, jitter: Double) -> Timestamp? {
        // A subscription that is over is not checked, unless only a single period's transaction says so: Apple may have
        // a later period.
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
