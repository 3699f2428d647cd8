/// The events that the App Store causes.
extension SimulatedLife {
    /// Returns the subscription whose newest period has this id. Returns nil if the subscription has a newer period,
    /// has ended or is revoked.
    private func subscription(ending id: String, in store: SimulatedStore) -> StoreSubscription? {
        guard let subscription = try? store.subscription(id), subscription.periods.last == id,
            !subscription.hasEnded, !subscription.isRevoked
        else { return nil }
        return subscription
    }

    mutating func endPeriod(_ id: String, in store: inout SimulatedStore) -> [Happening] {
        guard let subscription = subscription(ending: id, in: store), !subscription.renewal.isInBillingRetry else {
            return []
        }
        if subscription.expiresAt > store.now {
            // The store extended the period after this event was added.
            agenda.add(.periodEnds(id), at: subscription.expiresAt)
            return []
        }
        if !subscription.renewal.isOn { return expire(subscription, .customerCancelled, in: &store) }
        if subscription.renewal.priceIncreaseStatus == 0 { return expire(subscription, .priceIncrease, in: &store) }
        guard chance(plan.failureShare) else { return renew(subscription, in: &store) }
        let happened = happens(subscription.account, "cannot pay for the next period", in: &store) {
            store throws(SimulatedStore.Fault) in
            try store.failToRenew(id)
        }
        agenda.add(.retry(id), at: store.now + duration(days: 1))
        agenda.add(.giveUp(id), at: store.now + duration(days: Plan.retryDays))
        if let grace = try? store.subscription(id).renewal.graceExpiresAt { agenda.add(.graceEnds(id), at: grace) }
        return happened
    }

    mutating func retry(_ id: String, in store: inout SimulatedStore) -> [Happening] {
        guard let subscription = subscription(ending: id, in: store), subscription.renewal.isInBillingRetry else {
            return []
        }
        if chance(0.2) { return renew(subscription, in: &store) }
        agenda.add(.retry(id), at: store.now + duration(days: 1))
        return []
    }

    func endGrace(_ id: String, in store: inout SimulatedStore) -> [Happening] {
        guard let subscription = subscription(ending: id, in: store), subscription.renewal.isInBillingRetry else {
            return []
        }
        return happens(subscription.account, "loses access after the grace period", in: &store) {
            store throws(SimulatedStore.Fault) in
            try store.endGrace(id)
        }
    }

    func giveUp(_ id: String, in store: inout SimulatedStore) -> [Happening] {
        guard let subscription = subscription(ending: id, in: store), subscription.renewal.isInBillingRetry else {
            return []
        }
        return expire(subscription, .billingError, in: &store)
    }

    mutating func decideRefund(of id: String, in store: inout SimulatedStore) -> [Happening] {
        guard let bought = store.transactions[id], bought.revocation == nil else { return [] }
        guard chance(0.6) else {
            return happens(bought.account, "gets no refund of \(id)", in: &store) {
                store throws(SimulatedStore.Fault) in
                try store.declineRefund(of: id)
            }
        }
        let isPart = bought.terms.quantity > 1 && chance(0.5)
        let share = isPart ? SimulatedStore.wholePercent / bought.terms.quantity : nil
        if chance(0.2) { agenda.add(.disputeDecided(id), at: store.now + duration(days: 3)) }
        let text = isPart ? "gets a partial refund of \(id)" : "gets a refund of \(id)"
        return happens(bought.account, text, in: &store) {
            store throws(SimulatedStore.Fault) in
            try store.refund(id, milliPercent: share)
        }
    }

    mutating func decideDispute(over id: String, in store: inout SimulatedStore) -> [Happening] {
        guard let bought = store.transactions[id] else { return [] }
        let happened = happens(bought.account, "loses the refund of \(id)", in: &store) {
            store throws(SimulatedStore.Fault) in
            try store.reverseRefund(of: id)
        }
        // After the reversal of its refund, a period is valid again. So the agenda needs the end of this period again.
        if !happened.isEmpty { agenda.add(.periodEnds(id), at: max(store.now + 1, bought.expiresAt ?? store.now + 1)) }
        return happened
    }

    private mutating func renew(_ subscription: StoreSubscription, in store: inout SimulatedStore) -> [Happening] {
        let id = subscription.originalID
        let happened = happens(subscription.account, "is renewed", in: &store) { store throws(SimulatedStore.Fault) in
            try store.renew(id)
        }
        expectEnd(of: try? store.newest(of: id))
        return happened
    }

    private func expire(
        _ subscription: StoreSubscription, _ end: StoreSubscription.End, in store: inout SimulatedStore
    ) -> [Happening] {
        happens(subscription.account, "ends: \(end)", in: &store) { store throws(SimulatedStore.Fault) in
            try store.expire(subscription.originalID, end)
        }
    }
}
