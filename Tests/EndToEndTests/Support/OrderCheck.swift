import Kafka

/// First occurrences of one player's events are in the order of the player's submissions. Those that are answered
/// without Apple overtake, and are outside of it, as is what was parked once.
struct OrderCheck {
    let plan: Plan
    var parkedOnce: Set<String> = []

    func problems(_ content: OutcomeLog.Content) -> [String] {
        var first: [String: Int64] = [:]
        for event in content.events where first[event.submissionID] == nil {
            first[event.submissionID] = event.record.offset
        }
        var problems: [String] = []
        var latest: [String: (submission: String, offset: Int64)] = [:]
        var seen: Set<String> = []
        for record in plan.records {
            guard let id = record.submissionID, plan.truths[id]?.isLocal == false, !parkedOnce.contains(id),
                seen.insert(id).inserted,
                let offset = first[id]
            else { continue }
            if let before = latest[record.playerID], before.offset > offset {
                problems.append("\(record.playerID): \(id) was answered before \(before.submission)")
            }
            latest[record.playerID] = (id, offset)
        }
        return problems
    }
}
