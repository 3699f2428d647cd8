import Fulfillment
import Ledger
import NamesAndTimes
import Pipeline

/// Which dead letters an operator means. Nil means any.
package struct DeadLetterFilter: Sendable {
    private let bundleID: String?
    private let reason: DeadLetter.Reason?

    package init(bundleID: String?, reason: DeadLetter.Reason?) {
        self.bundleID = bundleID
        self.reason = reason
    }

    /// As a change of it is entered.
    var subject: String { ConsoleChanges.subject(bundleID: bundleID, reason: reason?.rawValue) }

    package func admits(_ letter: StoredDeadLetter) -> Bool {
        (reason == nil || letter.reason == reason?.rawValue)
            && (bundleID == nil || letter.owner.bundleID.map { Identifier($0) } == bundleID.map { Identifier($0) })
    }
}
