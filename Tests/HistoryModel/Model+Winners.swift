/// Judges that no later answer to a submission takes back its grant.
extension Model {
    /// Checks that no later rejection or hold lists a transaction that the same submission won (Events). A restored
    /// database may have lost the grant, and erasing a player removes the ids of the player's submissions. The check
    /// skips both kinds of history.
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

    /// Returns whether all records with this id hold one proof. An id with two proofs names two submissions.
    private func isOneProof(_ id: String) -> Bool {
        Set(submissions(id).map { "\($0.player) \($0.form) \($0.signedAt) \($0.holds)" }).count == 1
    }
}
