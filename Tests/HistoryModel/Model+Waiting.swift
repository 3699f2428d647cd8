/// Judges purchases that must arrive though nobody submits them, and holds that must end.
extension Model {
    /// Checks that workers grant a renewal that Apple reported after the subscription had an owner, whatever the policy
    /// for missed purchases is ("Purchases that nobody submitted").
    func renewals() -> [Difference] {
        guard !facts.conditions.wasPutBack, facts.conditions.erased.isEmpty else { return [] }
        return facts.purchases.values.sorted { $0.id < $1.id }.compactMap { purchase in
            let family = relatives(of: purchase)
            guard purchase.isToldToOwner, let app = facts.apps[purchase.bundleID], app.followsRenewals,
                let told = purchase.toldAt.first, let end = purchase.expiresAt, end > told,
                !purchase.isUpgraded, !purchase.isFamilyShared, facts.conditions.unknownAtApple[purchase.id] == nil,
                app.status(purchase.productID) == .active, !app.changed.contains(purchase.productID),
                family.allSatisfy({ $0.originalID == purchase.originalID && $0.refunds.isEmpty }),
                !facts.operators.contains(where: { order in family.contains { $0.id == order.transactionID } }),
                !family.contains(where: { mayBeHeld($0.id) }),
                !copies(of: purchase.goods).contains(where: { seen.grants[$0.id] != nil })
            else { return nil }
            return .init(.paidArrives, "\(purchase.id) was told after its owner was known, and is granted to nobody")
        }
    }

    /// Checks that the holds of a daily limit ended with the catalog that lifted the limit: "only an operator, or a new
    /// catalog, ends them".
    func daysOver() -> [Difference] {
        guard !facts.conditions.wasPutBack, facts.conditions.erased.isEmpty else { return [] }
        return facts.purchases.values.sorted { $0.id < $1.id }.compactMap { purchase in
            let entries = seen.events.flatMap { event in
                event.entries.filter { $0.transaction == purchase.id }.map { (event.player, $0) }
            }
            let held = entries.filter { $0.1.outcome == "held" && $0.1.reason == "daily_limit" }.map(\.0)
            let ended = entries.filter { $0.1.outcome != "held" }.map(\.0)
            guard seen.grants[purchase.id] == nil, let player = held.first(where: { !ended.contains($0) }) else {
                return nil
            }
            return .init(.paidArrives, "\(purchase.id) waits for another day of \(player), and no limit is left")
        }
    }
}
