import Fulfillment
import Ledger
import NamesAndTimes
import Pipeline

/// Selects the dead letters that an operator means. Nil means any.
package struct DeadLetterFilter: Sendable {
    private let bundleID: String?
    private let reason: DeadLetter.Reason?

    package init(bundleID: String?, reason: DeadLetter.Reason?) {
        self.bundleID = bundleID
        self.reason = reason
    }

    /// The filter as an entry of `console_changes`.
    var subject: String { ConsoleChanges.subject(bundleID: bundleID, reason: reason?.rawValue) }

    package func admits(_ letter: StoredDeadLetter) -> Bool {
        (reason == nil || letter.reason == reason?.rawValue)
            && (bundleID == nil || letter.owner.bundleID.map { Identifier($0) } == bundleID.map { Identifier($0) })
    }
}
