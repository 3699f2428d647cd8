import Fulfillment
import Postgres

enum FindOutcomes {
    private static let statement = LedgerSQL.statement(PackageResources.find_outcomes_sql)

    struct Answers: Sendable {
        /// The events of the decided records, by the index of their key. A record that was never decided has no entry.
        ///
        /// An entry is empty if the player was erased. The event was published before with the player's id, and
        /// receiptd does not publish the same event id with a pseudonym.
        var events: [Int: [OutcomeEvent]] = [:]
        /// The decided records whose events cannot be read, because somebody deleted their grants.
        var withoutGrants: Set<Int> = []
        /// The history of the database that has the outcomes; nil if there are none.
        var history: DatabaseHistory?
    }

    static func run(_ keys: [OutcomeKey], in session: PostgresSession) throws -> Answers {
        guard !keys.isEmpty else { return Answers() }
        let rows = try session.execute(
            statement,
            [
                .dateArray(daysSinceUnixEpoch: keys.map(\.day)), .int4Array(keys.map(\.partition)),
                .int8Array(keys.map(\.offset)), .identifiers(keys.lazy.map(\.topic)),
                .byteaArray(keys.map(\.content)),
            ])
        let (numbers, own) = (try rows.column("number"), try rows.column("answer"))
        let (event, history) = (try rows.column("event"), try rows.column("history"))
        let period = try rows.column("period_id")
        var events: [Int: [OutcomeEvent]] = [:]
        var answers: [Int: OutcomeEvent] = [:]
        var decided: Set<Int> = []
        for row in 0..<rows.count {
            guard let number = rows.int8(row, numbers).map({ Int($0) - 1 }) else { continue }
            decided.insert(number)
            if let granted = rows.event(row, event, ofPeriod: period) {
                events[number, default: []] += granted.isOfErased ? [] : [granted]
            }
            if answers[number] == nil, let answer = rows.bytes(row, own).flatMap({ OutcomeEvent(stored: $0) }) {
                answers[number] = answer
            }
        }
        for (number, answer) in answers { events[number, default: []] += answer.isOfErased ? [] : [answer] }
        return Answers(
            events: events, withoutGrants: decided.subtracting(events.keys),
            history: rows.count > 0 ? rows.history(0, history) : nil)
    }
}

extension OutcomeEvent {
    fileprivate var isOfErased: Bool { playerID.isPseudonym }
}
