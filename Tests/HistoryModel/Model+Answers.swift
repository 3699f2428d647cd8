/// Judges the answer to each submission: its reasons, its events and its delivery.
extension Model {
    func answers() -> [Difference] {
        unanswered() + deadLetters() + seen.events.flatMap(answered)
    }

    private func unanswered() -> [Difference] {
        let known = Set(seen.events.map(\.submission))
        let dead = Set(seen.deadLetters.map(\.place))
        return facts.submissions.filter { !known.contains($0.id) && !dead.contains($0.place) }.map {
            .init(.answered, "\($0.id) has no answer")
        }
    }

    /// Checks that each malformed record became a dead letter, and no other record did.
    private func deadLetters() -> [Difference] {
        let sent = Dictionary(facts.submissions.map { ($0.place, $0) }) { first, _ in first }
        let malformed = facts.submissions.filter { $0.quality == .malformed }
        let dead = Set(seen.deadLetters.filter { $0.reason == "malformed_message" }.map(\.place))
        return malformed.filter { !dead.contains($0.place) }.map {
            .init(.answered, "\($0.id) is malformed and no dead letter")
        }
            + seen.deadLetters.filter { sent[$0.place]?.quality != .malformed }.map {
                .init(.answered, "\(sent[$0.place]?.id ?? "a record at \($0.place)") is a dead letter: \($0.reason)")
            }
    }

    private func answered(_ event: Event) -> [Difference] {
        guard ["receipt.granted", "receipt.rejected", "receipt.held"].contains(event.type),
            event.text("source") ?? "submission" == "submission", !facts.conditions.erased.contains(event.player),
            // After an erasure, events have pseudonyms in place of the player and the submission. These begin with
            // `erased-`.
            !event.submission.hasPrefix("erased-")
        else { return [] }
        let sent = submissions(event.submission)
        guard !sent.isEmpty else {
            return [.init(.answered, "an event for \(event.submission), which nobody sent")]
        }
        // A game server may use one id for several proofs. The answer is correct if it is correct for one of these
        // proofs.
        let all = sent.map { faults(event, $0) }
        guard !all.contains(where: \.isEmpty) else { return [] }
        return all[0]
    }

    private func faults(_ event: Event, _ submission: Submission) -> [Difference] {
        let whole = whole(submission)
        var allowed: Set<String> = Set(whole.map(\.reason))
        var found: [Difference] = []
        let certain = whole.filter(\.isCertain).map(\.reason)
        for entry in event.entries {
            guard let purchase = facts.purchases[entry.transaction] else { continue }
            let verdict = entry.reason.map { "\(entry.outcome) \($0)" } ?? entry.outcome
            // If the worker rejects the whole submission, the answer lists every transaction with the submission's
            // reason.
            if entry.outcome == "rejected", let reason = entry.reason, allowed.contains(reason) { continue }
            if entry.reason == nil || !verdicts(submission, purchase).contains(verdict) {
                if entry.outcome == "granted" || entry.outcome == "already_granted" {
                    if owners(of: purchase).contains(submission.player) { continue }
                }
                found.append(
                    .init(
                        .answeredRightly,
                        "\(submission.id) says \(verdict) of \(purchase.id); allowed: "
                            + verdicts(submission, purchase).sorted().joined(separator: ", ")))
            }
        }
        allowed.formUnion(event.entries.compactMap(\.reason))
        allowed.formUnion(event.entries.map(\.outcome))
        if event.type == "receipt.rejected", let reason = event.reason, !allowed.contains(reason),
            reason != "refused_by_operator"
        {
            found.append(
                .init(.answeredRightly, "\(submission.id) is refused for \(reason); allowed: \(allowed.sorted())"))
        }
        if !certain.isEmpty, event.type != "receipt.rejected" || !certain.contains(event.reason ?? "") {
            found.append(
                .init(.answeredRightly, "\(submission.id) is \(event.type) \(event.reason ?? ""), not \(certain)"))
        }
        return found
    }

    /// Returns true if a player other than `player` may have a hold on the purchase, or on another purchase of its
    /// family.
    private func mayBeHeld(_ purchase: Purchase, besides player: String) -> Bool {
        let relatives = relatives(of: purchase)
        return facts.submissions.contains { other in
            other.player != player
                && relatives.contains { held in
                    (other.holds.contains(held.id) || isRevealed(held, other) || isFinishedEarly(held, other))
                        && obstacles(other, held).contains(where: \.isHold)
                }
        }
    }

    /// Returns the owner of the purchase. If the purchase has no grant, returns the owners of its copies. If the copies
    /// have no grant either, returns the owners of its family. There may be several, because the periods of a
    /// transferred subscription have two owners.
    private func owners(of purchase: Purchase) -> Set<String> {
        if let owner = owner(of: purchase.id) { return [owner] }
        let ofCopies = copies(of: purchase.goods).compactMap { self.owner(of: $0.id) }
        return Set(ofCopies.isEmpty ? relatives(of: purchase).compactMap { self.owner(of: $0.id) } : ofCopies)
    }

    private func isOwnedByOther(_ purchase: Purchase, than player: String) -> Bool {
        owners(of: purchase).union(transferred([purchase])).contains { $0 != player }
    }

    /// Returns the correct verdicts on one transaction of the submission, other than a grant to its player.
    private func verdicts(_ submission: Submission, _ purchase: Purchase) -> Set<String> {
        var allowed = Set(
            obstacles(submission, purchase).map { ($0.isHold ? "held " : "rejected ") + $0.reason })
        // If another submission of this player led to a hold, the transaction may stay held, even under another id of
        // the same period.
        let same = copies(of: purchase.goods)
        for other in facts.submissions where other.player == submission.player {
            for held in same where other.holds.contains(held.id) || isRevealed(held, other) {
                allowed.formUnion(obstacles(other, held).filter(\.isHold).map { "held " + $0.reason })
            }
        }
        let others = relatives(of: purchase).flatMap { claims(on: $0) }.filter { $0.player != submission.player }
        let isHeldForOther = mayBeHeld(purchase, besides: submission.player)
        let isReceiptOfOther =
            isRevealed(purchase, submission)
            && submission.holds.compactMap { facts.purchases[$0] }.contains { own in
                isOwnedByOther(own, than: submission.player)
                    || owners(of: own).isEmpty && mayBeHeld(own, besides: submission.player)
            }
        let isOwned = isOwnedByOther(purchase, than: submission.player)
        if !others.isEmpty || isHeldForOther || isReceiptOfOther || isOwned {
            allowed.formUnion(verdictsBesideAnother(submission, purchase))
        }
        return allowed
    }
}
