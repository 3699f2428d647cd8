/// Judges whether a later answer to a submission contradicts the submission's grant.
extension Model {
    /// Checks that after the grant of a transaction no rejection or hold of the same submission lists the transaction
    /// ("Events"). Skips histories with a restore, which may lose the grant, and with an erasure, which removes
    /// submission ids.
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

    /// Returns true if all records with this submission id have the same proof. Otherwise the id names several
    /// submissions.
    private func isOneProof(_ id: String) -> Bool {
        Set(submissions(id).map { "\($0.player) \($0.form) \($0.signedAt) \($0.holds)" }).count == 1
    }
}
