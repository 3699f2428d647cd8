import NamesAndTimes

/// The policy for searching Apple's history for missed periods, once Apple has reported a newer period.
public enum MissedPeriodSearch: Sendable {
    case never
    /// Workers search only for missed periods that may still run, because the catalog does not grant ended ones.
    case whileItRuns
    case always
}

extension AppPolicy {
    public var missedPeriodSearch: MissedPeriodSearch {
        guard followsRenewals, serverAPI != nil else { return .never }
        return products.values.contains(where: \.grantsLatePeriods) ? .always : .whileItRuns
    }
}

extension Subscription {
    /// Returns whether periods may lie between the known one and a newer one that began at `began`. A renewal in time
    /// begins at the known end. A later begin, or an earlier one as after a change of plan, leaves room for a period in
    /// between.
    func mayMiss(before began: Timestamp) -> Bool {
        guard began > told.periodBeganAt, let end = expiresAt else { return false }
        let gap = began.milliseconds - end.milliseconds
        return abs(gap) > CheckSchedule.of(environment).punctuality
    }

    /// Notes, as Apple reports a newer period, the time from which workers must search Apple's history.
    mutating func noteMissed(before began: Timestamp, toldAt: Timestamp, _ search: MissedPeriodSearch) {
        switch search {
        case .never: return
        // The newer period has begun, so a missed one is over. Apple reports a renewal up to a day before it begins.
        case .whileItRuns where began <= toldAt: return
        case .whileItRuns, .always: break
        }
        guard mayMiss(before: began) else { return }
        check.historySince = min(check.historySince ?? told.periodBeganAt, told.periodBeganAt)
    }

    /// Notes a newer period from a source that does not grant it.
    mutating func notePeriods(to began: Timestamp) {
        guard began > told.periodBeganAt else { return }
        check.periodsSince = min(check.periodsSince ?? told.periodBeganAt, told.periodBeganAt)
    }

    /// Notes that Apple answered a check, and how far the worker read Apple's history. The search is not repeated,
    /// unless a newer period was reported during the check.
    /// - Parameter known: the stored subscription right before this answer.
    /// - Returns: whether only a part of the history was read, so that the worker must ask for the rest at once.
    public mutating func end(_ answered: SubscriptionCheck, before known: Subscription) -> Bool {
        let asked = answered.leased.subscription
        guard asked.originalTransactionID == originalTransactionID, answered.tellsOfIt,
            known.told.periodBeganAt == asked.told.periodBeganAt
        else { return false }
        if known.check.periodsSince == asked.check.periodsSince { check.periodsSince = nil }
        guard known.check.historySince == asked.check.historySince else { return false }
        switch answered.findings.readUntil {
        case .nowhere: return false
        case .end:
            check.historySince = nil
            return false
        case .time(let time):
            check.historySince = time
            return true
        }
    }
}
