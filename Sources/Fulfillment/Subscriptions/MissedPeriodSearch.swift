import NamesAndTimes

/// Says whether workers search an account's history at Apple for missed periods, after Apple has reported a newer
/// period.
public enum MissedPeriodSearch: Sendable {
    case never
    /// Workers search only for missed periods that may still run, because the catalog grants no ended period.
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
    /// Returns whether there may be a period between the known period and a newer period that began at `began`. A
    /// punctual renewal begins at the known period's end. If the newer period begins later, or earlier after a change
    /// of plan, there may be a period in between.
    func mayMiss(before began: Timestamp) -> Bool {
        guard began > told.periodBeganAt, let end = expiresAt else { return false }
        let gap = began.milliseconds - end.milliseconds
        return abs(gap) > CheckSchedule.of(environment).punctuality
    }

    /// If a period may be missing before the newer period that Apple reports, sets the time from which workers must
    /// search the account's history.
    mutating func noteMissed(before began: Timestamp, toldAt: Timestamp, _ search: MissedPeriodSearch) {
        switch search {
        case .never: return
        // If the newer period has begun, a missed period before it is over. If not, a missed period may still run:
        // Apple may report a renewal up to a day before the renewal begins.
        case .whileItRuns where began <= toldAt: return
        case .whileItRuns, .always: break
        }
        guard mayMiss(before: began) else { return }
        check.historySince = min(check.historySince ?? told.periodBeganAt, told.periodBeganAt)
    }

    /// Sets the time from which workers must ask Apple for periods, because the fact about the newer period came
    /// without a grant of that period.
    mutating func notePeriods(to began: Timestamp) {
        guard began > told.periodBeganAt else { return }
        check.periodsSince = min(check.periodsSince ?? told.periodBeganAt, told.periodBeganAt)
    }

    /// Ends the searches that Apple's answer to a check has completed. A search stays open if Apple reported a newer
    /// period during the check, or if the worker wanted the history and could not read it.
    /// - Parameter known: the stored subscription right before Apple's answer.
    /// - Returns: true if the worker has read only a part of the history, and must ask for the rest at once.
    public mutating func end(_ answered: SubscriptionCheck, before known: Subscription) -> Bool {
        let asked = answered.leased.subscription
        guard asked.originalTransactionID == originalTransactionID, answered.tellsOfIt,
            known.told.periodBeganAt == asked.told.periodBeganAt,
            known.check.periodsSince == asked.check.periodsSince, known.check.historySince == asked.check.historySince
        else { return false }
        check.periodsSince = nil
        switch answered.findings.readUntil {
        case .nowhere:
            if let since = answered.findings.missedSince {
                check.historySince = min(check.historySince ?? since, since)
            }
            return false
        case .end:
            check.historySince = nil
            return false
        case .time(let time):
            check.historySince = time
            return true
        }
    }
}
