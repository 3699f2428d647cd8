/// Judges the owners of purchases, and whether each purchase that must arrive arrives, periods and announced ones
/// included.
extension Model {
    func owners() -> [Difference] {
        var found: [Difference] = []
        var players: [String: Set<String>] = [:]
        for event in seen.events where event.type == "receipt.granted" {
            guard let id = event.transaction else { continue }
            players[id, default: []].insert(event.player)
        }
        for (id, row) in seen.grants { players[id, default: []].insert(row.player) }
        for (id, all) in players.sorted(by: { $0.key < $1.key }) {
            guard !isUnknown(id) else { continue }
            if all.count > 1 { found.append(.init(.onePlayer, "\(id) was granted to \(all.sorted())")) }
            guard let purchase = facts.purchases[id] else {
                found.append(.init(.grantsAreEarned, "\(id) was granted, which nobody bought"))
                continue
            }
            let allowed = mayOwn(purchase)
            for player in all.subtracting(allowed).sorted() {
                found.append(
                    .init(
                        .grantsAreEarned, "\(id) was granted to \(player), who has no right to it: \(allowed.sorted())")
                )
            }
        }
        return found + grantedOnce(players)
    }

    /// Checks that a period or a non-consumable was granted under only one transaction id, and that each family has one
    /// owner.
    private func grantedOnce(_ players: [String: Set<String>]) -> [Difference] {
        let known = players.keys.compactMap { facts.purchases[$0] }
        var found: [Difference] = []
        for (goods, group) in Dictionary(grouping: known, by: \.goods).sorted(by: { $0.key < $1.key }) {
            guard group.count > 1, group[0].kind == .autoRenewable || !isRefunded(goods)
            else {
                continue
            }
            found.append(.init(.oneGrant, "\(goods) was granted as \(group.map(\.id).sorted())"))
        }
        for (family, group) in Dictionary(grouping: known, by: { self.family(of: $0.id) }) {
            guard transferred(group).isEmpty, group.allSatisfy({ !isUnknown($0.id) }), isShownAsOne(group)
            else { continue }
            let owners = group.reduce(into: Set<String>()) { $0.formUnion(players[$1.id] ?? []) }
            if owners.count > 1 { found.append(.init(.onePlayer, "what goes with \(family) is \(owners.sorted())'s")) }
        }
        return found
    }

    /// Returns true if the worker knew that the original transactions of the group belong together. The worker learns
    /// this from an answer that lists a granted period under a second original transaction. Returns true also if the
    /// group has only one original transaction, or a known previous original transaction.
    private func isShownAsOne(_ group: [Purchase]) -> Bool {
        guard Set(group.map(\.originalID)).count > 1, group.allSatisfy({ $0.previousOriginalID == nil }) else {
            return true
        }
        return seen.events.contains { event in
            event.entries.contains { entry in
                guard let copy = facts.purchases[entry.transaction] else { return false }
                let first = group.first { $0.goods == copy.goods && $0.originalID != copy.originalID }
                guard let first, let granted = granted[first.id], granted.decidedAt < event.decidedAt else {
                    return false
                }
                return group.contains { later in
                    guard later.originalID == copy.originalID, let other = self.granted[later.id] else { return false }
                    return other.player != granted.player && event.decidedAt <= other.decidedAt
                }
            }
        }
    }

    /// Returns true if Apple refunded any copy of the goods. The refund revokes the grant, after which the worker may
    /// grant the goods again (`already_granted`).
    func isRefunded(_ goods: String) -> Bool {
        copies(of: goods).contains { !$0.refunds.isEmpty }
    }

    /// Returns the players to whom an operator transferred a subscription of the group.
    func transferred(_ group: [Purchase]) -> [String] {
        facts.operators.compactMap { act in
            guard case .transfer(let player) = act.order,
                group.contains(where: { family(of: $0.id) == family(of: act.transactionID) })
            else { return nil }
            return player
        }
    }

    private func mayOwn(_ purchase: Purchase) -> Set<String> {
        var players = Set(claims(on: purchase).map(\.player) + transferred([purchase]))
        // The owner of a subscription gets all of its periods, whichever player submits them ("Subscriptions" and
        // "Purchases that nobody submitted" in the contract).
        let app = facts.apps[purchase.bundleID]
        let isFollowed = purchase.kind == .autoRenewable && app?.followsRenewals ?? false
        // A player owns an original transaction through any purchase of its family, such as a restored copy.
        let isAnnounced = (app?.missed != .off || app?.changesMissed == true) && !purchase.toldAt.isEmpty
        if isFollowed || isAnnounced {
            for other in relatives(of: purchase) {
                players.formUnion(claims(on: other).map(\.player))
            }
        }
        return players
    }

    func arrivals() -> [Difference] {
        var found: [Difference] = []
        for (_, group) in purchasesByFamily.sorted(by: { $0.key < $1.key }) {
            let all = group.flatMap { purchase in claims(on: purchase).map { (purchase, $0) } }
            // The player of the first submission owns the whole family, unless an operator transferred the family. If
            // several players may own the family, the model does not require any of its periods to arrive.
            let players = Set(all.map(\.1.player) + transferred(group))
            guard players.count == 1 || group.count == 1 && transferred(group).isEmpty else { continue }
            let certain = Dictionary(grouping: all.filter(\.1.isCertain)) { $0.0.goods }
            for (goods, claims) in certain.sorted(by: { $0.key < $1.key }) {
                let ids = copies(of: goods).map(\.id)
                // Only an operator ends a hold, even if a later submission has a better proof. Another player's hold
                // claims the whole family.
                let last = claims.compactMap(\.1.number).max() ?? 0
                guard !ids.contains(where: { mayBeHeld($0, at: last) }),
                    !group.contains(where: { mayBeHeld($0.id, besidesFor: players, at: last) })
                else { continue }
                guard ids.allSatisfy({ seen.grants[$0] == nil && !isUnknown($0) }) else {
                    continue
                }
                let who = Set(claims.map(\.1.player)).sorted()
                found.append(.init(.paidArrives, "\(ids.sorted()) is paid, proven by \(who), and granted to nobody"))
            }
        }
        return found
    }

    /// Returns true if the purchase may be held for a player who is not one of `players`.
    /// - Parameter number: the index of a submission. Holds that an operator refused before this submission do not
    ///   count: "A refused hold frees the claim for others".
    func mayBeHeld(_ id: String, besidesFor players: Set<String> = [], at number: Int = 0) -> Bool {
        guard let purchase = facts.purchases[id] else { return false }
        let refusal = facts.operators.last { $0.order == .refuse && $0.transactionID == id && $0.submissions <= number }
        let refused = refusal.map { (before: $0.submissions, players: refusedPlayers(of: id)) }
        return facts.submissions.enumerated().contains { index, submission in
            if let refused, index < refused.before, refused.players.contains(submission.player) { return false }
            return !players.contains(submission.player)
                && (submission.holds.contains(id) || isRevealed(purchase, submission))
                && !whole(submission).contains(where: \.isCertain)
                && obstacles(submission, purchase).contains(where: \.isHold)
        }
    }

    func grantFacts() -> [Difference] {
        granted.values.sorted { $0.id < $1.id }.flatMap { event -> [Difference] in
            guard let purchase = facts.purchases[event.transaction ?? ""] else { return [] }
            var found: [Difference] = []
            func expect(_ name: String, _ told: String?, _ wanted: String) {
                if told != wanted {
                    found.append(
                        .init(.grantsAreTrue, "\(name) of \(purchase.id) is \(told ?? "absent"), not \(wanted)"))
                }
            }
            expect("product_id", event.text("product_id"), purchase.productID)
            expect("quantity", event.number("quantity").map { "\($0)" }, "\(purchase.quantity)")
            expect("original_transaction_id", event.text("original_transaction_id"), purchase.originalID)
            expect("bundle_id", event.text("bundle_id"), purchase.bundleID)
            return found
        }
    }
}
