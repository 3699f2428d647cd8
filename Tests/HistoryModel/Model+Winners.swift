/// Judges that nothing takes back what a submission was granted.
extension Model {
    /// Events: the submission that won a transaction gets `receipt.granted` with the same `event_id` each time its record
    /// comes again, whatever changed since. No later answer to it lists that transaction as refused. A database that was put
    /// back may have lost the grant, and an erased player's submissions lose their names.
    func winners() -> [Difference] {
        guard !facts.conditions.wasPutBack, facts.conditions.erased.isEmpty else { return [] }
        var known: Set<String> = []
        var won: [String: Event] = [:]
        var found: [Difference] = []
        for event in seen.events where known.insert(event.id).inserted {
            if event.type == "receipt.granted", let id = event.transaction { won[id] = won[id] ?? event }
            guard ["receipt.rejected", "receipt.held"].contains(event.type), isOneProof(event.submission) else {
                continue
            }
            for entry in event.entries {
                guard let grant = won[entry.transaction], grant.submission == event.submission,
                    grant.place.partition == event.place.partition, grant.decidedAt < event.decidedAt,
                    event.type == "receipt.rejected" || ["rejected", "held"].contains(entry.outcome)
                else { continue }
                let verdict = [entry.outcome, entry.reason ?? ""].joined(separator: " ")
                found.append(
                    .init(
                        .winners, "\(event.submission) won \(entry.transaction), and is told later: \(verdict)"))
            }
        }
        return found
    }

    /// One id with two proofs names two submissions.
    private func isOneProof(_ id: String) -> Bool {
        Set(submissions(id).map { "\($0.player) \($0.form) \($0.signedAt) \($0.holds)" }).count == 1
    }
}
