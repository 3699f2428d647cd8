import BackOffice
import Fulfillment
import NamesAndTimes
import Pipeline

/// Selects dead letters by an operator's options. An option that is nil excludes no letter.
package struct DeadLetterFilter: Sendable {
    private let bundleID: String?
    private let reason: DeadLetter.Reason?
    private let playerID: String?
    private let since: Timestamp?
    private let until: Timestamp?

    /// - Parameters:
    ///   - playerID: the player whom the record names; the record's key if the record names no player.
    ///   - since: the earliest time at which the record became a dead letter.
    ///   - until: the latest time at which the record became a dead letter.
    package init(
        bundleID: String?, reason: DeadLetter.Reason?, playerID: String? = nil, since: Timestamp? = nil,
        until: Timestamp? = nil
    ) {
        (self.bundleID, self.reason, self.playerID) = (bundleID, reason, playerID)
        (self.since, self.until) = (since, until)
    }

    /// The filter as text for a row of `console_changes`.
    var subject: String {
        ConsoleChanges.subject(
            bundleID: bundleID, reason: reason?.rawValue,
            [
                playerID.map { _ in "one player's" }, since.map { "since \($0.rfc3339)" },
                until.map { "before \($0.rfc3339)" },
            ])
    }

    package func admits(_ letter: StoredDeadLetter) -> Bool {
        let time = letter.timestampMilliseconds.map { Timestamp(milliseconds: $0) }
        return (reason == nil || letter.reason == reason?.rawValue)
            && Self.isSame(letter.owner.bundleID, bundleID)
            && Self.isSame(letter.owner.playerID ?? letter.owner.key, playerID)
            && (since == nil || time.map { $0 >= since ?? $0 } ?? false)
            && (until == nil || time.map { $0 <= until ?? $0 } ?? false)
    }

    private static func isSame(_ found: String?, _ wanted: String?) -> Bool {
        wanted == nil || found.map { Identifier($0) } == wanted.map { Identifier($0) }
    }
}
