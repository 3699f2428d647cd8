/// The events that players cause. If the store refuses an action, such as a second refund, nothing happens.
extension SimulatedLife {
    mutating func visit(_ number: Int, in store: inout SimulatedStore) -> [Happening] {
        let player = players[number]
        agenda.add(.visit(player: number), at: store.now + duration(days: 0.5 + random.unit() * 4))
        var happened: [Happening] = []
        if chance(0.35) { happened += buyOnce(player, in: &store) }
        if let subscription = store.subscriptions(of: player.account).last {
            switch subscription.state(at: store.now) {
            case .active: happened += change(subscription, in: &store)
            case .expired, .revoked: if chance(0.3) { happened += subscribe(player, in: &store) }
            case .gracePeriod, .billingRetry: break
            }
        } else if chance(0.3) {
            happened += subscribe(player, in: &store)
        }
        if chance(plan.refundShare) { happened += askForRefund(player, in: &store) }
        return happened
    }

    /// Performs an action. Returns an empty list if the store refuses the action.
    func happens(
        _ account: SimulatedAccount, _ text: String, in store: inout SimulatedStore,
        _ act: (inout SimulatedStore) throws(SimulatedStore.Fault) -> Void
    ) -> [Happening] {
        do {
            try act(&store)
            return [Happening(at: store.now, account: account.name, text: text, bought: nil)]
        } catch {
            return []
        }
    }

    /// Performs an action that gives the player a purchase. Returns an empty list if the store refuses the action.
    private mutating func buys(
        _ account: SimulatedAccount, _ text: String, in store: inout SimulatedStore,
        _ act: (inout SimulatedStore) throws(SimulatedStore.Fault) -> StoreTransaction
    ) -> [Happening] {
        do {
            let bought = try act(&store)
            expectEnd(of: bought)
            return [Happening(at: store.now, account: account.name, text: text, bought: bought)]
        } catch {
            return []
        }
    }

    private mutating func buyOnce(_ player: Player, in store: inout SimulatedStore) -> [Happening] {
        let owned = store.transactions(of: player.account).contains { $0.product.kind == .nonConsumable }
        let suffix = !owned && chance(0.15) ? "builder" : chance(0.3) ? "gems.1200" : "gems.100"
        let quantity = suffix != "builder" && chance(0.2) ? 3 : 1
        let product = "\(app.bundleID).\(suffix)"
        let terms = SimulatedTerms(accountToken: player.token, quantity: quantity)
        return buys(player.account, "buys \(quantity) × \(suffix)", in: &store) { store throws(SimulatedStore.Fault) in
            try store.buy(product, by: player.account, terms)
        }
    }

    private mutating func subscribe(_ player: Player, in store: inout SimulatedStore) -> [Happening] {
        let isNew = store.subscriptions(of: player.account).isEmpty
        let product = chance(0.7) ? Plan.week(app.bundleID) : Plan.month(app.bundleID)
        var terms = SimulatedTerms(accountToken: player.token)
        if isNew, chance(0.2) { terms.offer = .freeTrial }
        if chance(0.05) {
            terms.offer = SimulatedOffer(type: SimulatedOffer.code, discountType: "PAY_AS_YOU_GO", identifier: "spring")
        }
        if player.isFamilyMember { terms.ownership = SimulatedPurchase.OwnershipType.familyShared.rawValue }
        let account = player.account
        return buys(account, isNew ? "subscribes to \(product)" : "comes back to \(product)", in: &store) {
            store throws(SimulatedStore.Fault) in try store.buy(product, by: account, terms)
        }
    }

    /// Makes a random change of an active subscription, or no change.
    private mutating func change(_ subscription: StoreSubscription, in store: inout SimulatedStore) -> [Happening] {
        let (account, id) = (subscription.account, subscription.originalID)
        guard subscription.renewal.isOn else {
            guard chance(0.3) else { return [] }
            return happens(account, "turns renewal on", in: &store) { store throws(SimulatedStore.Fault) in
                try store.setRenewal(of: id, isOn: true)
            }
        }
        if chance(0.06) {
            return happens(account, "turns renewal off", in: &store) { store throws(SimulatedStore.Fault) in
                try store.setRenewal(of: id, isOn: false)
            }
        }
        let (week, month) = (Plan.week(app.bundleID), Plan.month(app.bundleID))
        if subscription.product.id == week, chance(0.06) {
            return buys(account, "upgrades to \(month)", in: &store) { store throws(SimulatedStore.Fault) in
                try store.upgrade(id, to: month)
            }
        }
        if subscription.product.id == month, chance(0.06) {
            return happens(account, "will renew as \(week)", in: &store) { store throws(SimulatedStore.Fault) in
                try store.downgrade(id, to: week)
            }
        }
        return changeFromOutside(subscription, in: &store)
    }

    /// Makes a random change that the studio or the player's family causes, or no change.
    private mutating func changeFromOutside(
        _ subscription: StoreSubscription, in store: inout SimulatedStore
    ) -> [Happening] {
        let (account, id) = (subscription.account, subscription.originalID)
        if chance(0.02) {
            let isAgreed = subscription.renewal.priceIncreaseStatus == 0
            return happens(account, isAgreed ? "agrees to a higher price" : "is asked for a higher price", in: &store) {
                store throws(SimulatedStore.Fault) in
                try store.raisePrice(of: id, isAgreed: isAgreed)
            }
        }
        if chance(0.02) {
            let time = duration(days: 1)
            return happens(account, "gets a free day", in: &store) { store throws(SimulatedStore.Fault) in
                try store.extend(id, milliseconds: time)
            }
        }
        guard let newest = subscription.periods.last, chance(0.05) else { return [] }
        return happens(account, "loses a subscription that the family shared", in: &store) {
            store throws(SimulatedStore.Fault) in
            try store.revoke(newest)
        }
    }

    private mutating func askForRefund(_ player: Player, in store: inout SimulatedStore) -> [Happening] {
        let bought = store.transactions(of: player.account).filter { $0.revocation == nil && $0.isPurchased }
        guard !bought.isEmpty else { return [] }
        let chosen = bought[Int(random.next() % UInt64(bought.count))]
        agenda.add(.refundDecided(chosen.id), at: store.now + duration(days: 1))
        return happens(player.account, "asks for a refund of \(chosen.id)", in: &store) {
            store throws(SimulatedStore.Fault) in
            try store.requestRefund(of: chosen.id)
        }
    }

    mutating func expectEnd(of period: StoreTransaction?) {
        guard let period, let expiresAt = period.expiresAt else { return }
        agenda.add(.periodEnds(period.id), at: expiresAt)
    }
}

extension SimulatedStore {
    /// Returns the newest period of the transaction's subscription. Returns the transaction itself if it belongs to no
    /// subscription.
    func newest(of id: String) throws(Fault) -> StoreTransaction {
        let known = try transaction(id)
        return try transaction(subscriptions[known.originalID]?.periods.last ?? id)
    }
}
