import NamesAndTimes

/// The policy for searching Apple's history for unreported periods, once a newer one was reported.
public enum MissedPeriodSearch: Sendable {
    case never
    /// Searches only for a missed period that may still run: the catalog does not grant an ended one.
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
    /// Returns whether there may be periods between the known one and a newer one. The newer one then begins after the
    /// known end, or before it, as after a change of plan. A renewal in time begins at the known end.
    func mayMiss(before began: Timestamp) -> Bool {
        guard began > told.periodBeganAt, let end = expiresAt else { return false }
        let gap = began.milliseconds - end.milliseconds
        return abs(gap) > CheckSchedule.of(environment).punctuality
    }

    /// Notes the time from which Apple's history is to be searched, as a newer period is reported.
    mutating func noteMissed(before began: Timestamp, toldAt: Timestamp, _ search: MissedPeriodSearch) {
        switch search {
        case .never: return
        // Apple tells of a renewal up to a day before it begins.
        case .whileItRuns where began <= toldAt: return
        case .whileItRuns, .always: break
        }
        guard mayMiss(before: began) else { return }
        check.historySince = min(check.historySince ?? told.periodBeganAt, told.periodBeganAt)
    }

    /// Notes a newer period that was reported by something that does not grant it.
    mutating func notePeriods(to began: Timestamp) {
        guard began > told.periodBeganAt else { return }
        check.periodsSince = min(check.periodsSince ?? told.periodBeganAt, told.periodBeganAt)
    }

    /// Notes that Apple was asked, and that its history was perhaps read to the end. Neither is needed again, unless
    /// something newer was reported meanwhile.
    /// - Parameter known: the subscription before this answer.
    /// - Returns: whether a part of the history was read, so that the rest is to be asked for at once.
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
