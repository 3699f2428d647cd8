/// Judges announced purchases of which an operator refused a hold.
extension Model {
    /// Checks that an announced purchase arrives at its token's player after an operator refused another player's hold:
    /// "A refused hold frees the claim for others". Skips a purchase that another submission may still get or hold.
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

    /// Returns the only player to whom the game server assigned the token of the announced purchase. Returns nil if
    /// there are several, or if anything else may prevent the grant.
    private func playerOfToken(_ purchase: Purchase) -> String? {
        guard let app = facts.apps[purchase.bundleID], app.missed == .grant, !app.changesMissed,
            purchase.purchasedAt >= app.grantsSince, let token = purchase.token,
            !purchase.toldAt.isEmpty, purchase.goods == "transaction \(purchase.id)", !purchase.isFamilyShared,
            purchase.refunds.isEmpty, app.status(purchase.productID) == .active,
            facts.operators.allSatisfy({ $0.transactionID != purchase.id || $0.order == .refuse })
        else { return nil }
        let players = (app.accounts[token] ?? []).union(app.tokenIsPlayer ? [token] : [])
        return players.count == 1 ? players.first : nil
    }

    /// Returns the players whose events show that an operator refused their hold on the purchase.
    func refusedPlayers(of id: String) -> Set<String> {
        Set(
            seen.events.filter { event in
                event.type == "receipt.rejected"
                    && event.entries.contains { $0.transaction == id && $0.reason == "refused_by_operator" }
            }.map(\.player))
    }
}
