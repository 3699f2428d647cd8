/// Judges what becomes of a purchase that nobody submitted once a hold of it was refused.
extension Model {
    /// "A refused hold frees the claim for others": what Apple told of then comes to its token's player, as it would have
    /// without the hold. Only a single purchase is judged that nobody else can have or wait for.
    func arrivalsBehindRefusals() -> [Difference] {
        guard !facts.conditions.wasPutBack, facts.conditions.erased.isEmpty else { return [] }
        return facts.purchases.values.sorted { $0.id < $1.id }.compactMap { purchase in
            let id = purchase.id
            guard seen.grants[id] == nil, granted[id] == nil, let player = playerOfToken(purchase) else { return nil }
            let refused = refusedPlayers(of: id)
            guard !refused.isEmpty, !refused.contains(player) else { return nil }
            let others = facts.submissions.filter { submission in
                (submission.holds.contains(id) || isRevealed(purchase, submission))
                    && (submission.player == player || obstacles(submission, purchase).contains(where: \.isHold))
            }
            guard others.allSatisfy({ refused.contains($0.player) }) else { return nil }
            return .init(
                .paidArrives,
                "\(id) was told for \(player), its hold for \(refused.sorted()) was refused, and it is granted to nobody"
            )
        }
    }

    /// The one player whom the game names for the token of what Apple told of, where nothing stands in the way.
    private func playerOfToken(_ purchase: Purchase) -> String? {
        guard let app = facts.apps[purchase.bundleID], app.missed == .grant, let token = purchase.token,
            !purchase.toldAt.isEmpty, purchase.goods == "transaction \(purchase.id)", !purchase.isFamilyShared,
            purchase.refunds.isEmpty, app.status(purchase.productID) == .active,
            facts.operators.allSatisfy({ $0.transactionID != purchase.id || $0.order == .refuse })
        else { return nil }
        let players = (app.accounts[token] ?? []).union(app.tokenIsPlayer ? [token] : [])
        return players.count == 1 ? players.first : nil
    }

    /// The players whose holds of a purchase an operator refused, as the events say.
    private func refusedPlayers(of id: String) -> Set<String> {
        Set(
            seen.events.filter { event in
                event.type == "receipt.rejected"
                    && event.entries.contains { $0.transaction == id && $0.reason == "refused_by_operator" }
            }.map(\.player))
    }
}
