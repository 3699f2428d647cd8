import Encodings
import Kafka

/// Checks that each player's first events come in the order of the player's submissions. Skips local answers, which may
/// come earlier, and submissions that were ever parked.
struct OrderCheck {
    let plan: Plan
    var parkedOnce: Set<String> = []

    func problems(_ content: OutcomeLog.Content) -> [String] {
        var first: [String: OutcomeLog.Event] = [:]
        for event in content.events where first[event.submissionID] == nil { first[event.submissionID] = event }
        var problems: [String] = []
        var latest: [String: OutcomeLog.Event] = [:]
        var seen: Set<String> = []
        for record in plan.records {
            guard let id = record.submissionID, plan.truths[id]?.isLocal == false, !parkedOnce.contains(id),
                seen.insert(id).inserted,
                let event = first[id]
            else { continue }
            if let before = latest[record.playerID], before.record.offset > event.record.offset {
                problems.append("\(record.playerID): \(event.words) was answered before \(before.words)")
            }
            latest[record.playerID] = event
        }
        return problems
    }
}

extension OutcomeLog.Event {
    fileprivate var words: String {
        let told = "\(type) \(reason ?? ""), decided at \(json["occurred_at"]?.string ?? "?")"
        return "\(submissionID) (\(told), offset \(record.offset) at \(record.timestampMilliseconds ?? 0))"
    }
}
