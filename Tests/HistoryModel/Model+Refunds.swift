/// Judges the newest event about each transaction and subscription, and the row of each in the ledger.
extension Model {
    /// Returns the number of refunded units: rounded to the nearest, and at least one.
    private static func units(_ quantity: Int, _ thousandths: Int) -> Int {
        max(1, (quantity * thousandths + 50_000) / 100_000)
    }

    func refunds() -> [Difference] {
        changes().sorted { $0.key < $1.key }.flatMap { id, events -> [Difference] in
            guard let purchase = facts.purchases[id], let last = events.last,
                !isUnknown(id)
            else { return [] }
            let orders = facts.operators.filter { $0.transactionID == id && [.revoke, .reinstate].contains($0.order) }
            let isRevokedByOperator = orders.last?.order == .revoke
            // The refund of a restored copy may or may not count for the whole non-consumable.
            let isCopied = copies(of: purchase.goods).contains { $0.id != id && !$0.refunds.isEmpty }
            guard purchase.kind != .nonConsumable || !isCopied else { return [] }
            let words = refunds(of: purchase)
            if words.isEmpty {
                let isRevoked = last.type == "receipt.revoked"
                guard isRevoked != isRevokedByOperator else { return [] }
                return [.init(.refunds, "\(id) ends as \(last.type), and Apple never said so")]
            }
            // The worker may know a refund whose notification was lost. A refund that is not larger than an earlier
            // refund changes nothing ("Notifications"). A lost reversal reinstates nothing.
            guard let final = words.last, final.isDelivered,
                words.allSatisfy({ $0.isDelivered || !$0.isReversal && !final.isReversal })
            else { return [] }
            return compare(purchase, last, final.thousandths, isRevokedByOperator)
        }
    }

    /// Checks the units of each revocation, including revocations that a later event replaced.
    func units() -> [Difference] {
        changes().sorted { $0.key < $1.key }.flatMap { id, events -> [Difference] in
            guard let purchase = facts.purchases[id], purchase.kind == .consumable, !isUnknown(id) else { return [] }
            let shares = purchase.refunds.map(\.thousandths).filter { $0 > 0 }
            var allowed = Set(shares.map { Self.units(purchase.quantity, $0) })
            if facts.operators.contains(where: { $0.transactionID == id && $0.order == .revoke }) {
                allowed.insert(purchase.quantity)
            }
            return events.filter { $0.type == "receipt.revoked" && !allowed.contains($0.number("units") ?? 0) }.map {
                .init(
                    .refunds,
                    "a revocation of \(id) takes back \($0.number("units") ?? -1) units, not \(allowed.sorted())")
            }
        }
    }

    private func compare(
        _ purchase: Purchase, _ last: Event, _ thousandths: Int, _ isRevokedByOperator: Bool
    ) -> [Difference] {
        let id = purchase.id
        if isRevokedByOperator {
            guard last.type != "receipt.revoked" else { return [] }
            return [.init(.refunds, "\(id) ends as \(last.type), though an operator revoked it")]
        }
        if thousandths == 0 {
            guard last.type == "receipt.revoked" else { return [] }
            return [.init(.refunds, "\(id) ends as revoked, though Apple reversed the refund")]
        }
        guard last.type == "receipt.revoked" else {
            return [.init(.refunds, "\(id) ends as \(last.type), though Apple refunded \(thousandths)")]
        }
        let wanted = Self.units(purchase.quantity, thousandths)
        guard last.number("units") != wanted else { return [] }
        return [.init(.refunds, "\(id) ends with \(last.number("units") ?? -1) units revoked, not \(wanted)")]
    }

    func ledger() -> [Difference] {
        var found: [Difference] = []
        let changes = changes()
        for (id, row) in seen.grants.sorted(by: { $0.key < $1.key }) {
            guard let events = changes[id], let last = events.last else {
                found.append(.init(.ledger, "the grant of \(id) was never published"))
                continue
            }
            if row.isInForce != (last.type != "receipt.revoked"), !isUnknown(id) || isDecidedSincePutBack(id) {
                found.append(
                    .init(
                        .ledger,
                        "\(id) is \(row.isInForce ? "in force" : "revoked"), and its newest event is \(last.type)"))
            }
            let told = last.type == "receipt.revoked" ? last.number("units") ?? 0 : 0
            if let kept = row.revokedUnits, kept != told, !isUnknown(id) {
                found.append(.init(.ledger, "\(id) has \(kept) revoked units, and its newest event says \(told)"))
            }
            if let event = granted[id], event.player != row.player, !isUnknown(id) {
                found.append(.init(.ledger, "\(id) is \(row.player)'s, and its event \(event.player)'s"))
            }
        }
        found += granted.keys.filter { seen.grants[$0] == nil && !isUnknown($0) && !isOverSincePutBack($0) }.sorted()
            .map {
                .init(.ledger, "\($0) was told as granted and is not in the ledger")
            }
        return found
    }

    /// Returns true if the restore may have lost the grant of a period that only Apple reported, and the period is over
    /// by now. The worker does not grant such a period again, even if Apple reports it again or a player submits it.
    private func isOverSincePutBack(_ id: String) -> Bool {
        guard facts.conditions.wasPutBack, let end = facts.purchases[id]?.expiresAt else { return false }
        return granted[id]?.text("source") ?? "submission" != "submission" && end <= facts.conditions.now
    }

    /// Returns true if the worker revoked or reinstated the grant after the restore. The new revision is above every
    /// published revision ("Delivery"). So the new event is the newest, even if the restore lost an operator's order.
    private func isDecidedSincePutBack(_ id: String) -> Bool {
        guard let time = facts.conditions.putBackAt, !erased.contains(family(of: id)) else { return false }
        return seen.events.contains { event in
            event.transaction == id && ["receipt.revoked", "receipt.reinstated"].contains(event.type)
                && event.decidedAt > time.dropLast()
        }
    }

    /// Checks that a followed subscription has the state and product that Apple reported last ("Subscriptions").
    func subscriptions() -> [Difference] {
        seen.subscriptions.sorted { $0.key < $1.key }.flatMap { id, row -> [Difference] in
            guard let wanted = facts.subscriptions[id], !isUnknown(id) else { return [] }
            var found: [Difference] = []
            if row.state != wanted.state {
                found.append(.init(.subscriptions, "\(id) is \(row.state), not \(wanted.state)"))
            }
            if row.product != wanted.product {
                found.append(.init(.subscriptions, "\(id) is of \(row.product), not of \(wanted.product)"))
            }
            return found
        }
    }

    /// Checks that the newest event about a subscription has the facts of its row ("Subscriptions").
    func toldSubscriptions() -> [Difference] {
        var newest: [String: Event] = [:]
        for event in seen.events where event.type == "subscription.changed" {
            let id = event.text("original_transaction_id") ?? ""
            if (newest[id]?.number("revision") ?? 0) < event.number("revision") ?? 0 { newest[id] = event }
        }
        return newest.sorted { $0.key < $1.key }.flatMap { id, event -> [Difference] in
            guard let row = seen.subscriptions[id], !isUnknown(id), !facts.conditions.erased.contains(event.player)
            else { return [] }
            let told = SubscriptionFact(
                state: event.text("state") ?? "", product: event.text("product_id") ?? "",
                willRenew: event.flag("will_renew"),
                renewalProduct: event.text("renewal_product_id"))
            return told == row ? [] : [.init(.subscriptions, "\(id) is \(row), and its newest event says \(told)")]
        }
    }
}
