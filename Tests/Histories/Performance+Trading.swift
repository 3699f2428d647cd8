import AppStoreSimulation
import Foundation
import HistoryModel

/// Performs the steps that happen at Apple, and delivers Apple's notifications.
extension Performance {
    func app(_ choice: Int) -> Scenery.SoldApp { Scenery.apps[choice % Scenery.apps.count] }

    func trade(_ step: Step) async throws {
        let before = Set(facts.purchases.keys)
        guard let id = try? change(step) else { return }
        refresh()
        if !before.contains(id) || step.kind == .buy { bought[step.number] = id }
        for notification in world.mail.take() {
            note(notification, of: id)
            switch step["told"] {
            case 1:
                post.untold.insert(notification.transactionID ?? id)
                say(step, "(Apple's notification \(notification.type) is lost)")
            case 2:
                // Apple repeats a notification for which it got no answer.
                try await deliver(notification)
                try await deliver(notification)
            case 3: post.held.append(notification)
            default: try await deliver(notification)
            }
        }
    }

    /// Changes the store as a step says. Throws if the store refuses the change.
    /// - Returns: the transaction that the step made or changed; nil if the step does nothing.
    private func change(_ step: Step) throws -> String? {
        let now = now
        let of = bought[step["of"]]
        if step.kind != .buy, of == nil { return nil }
        let id = of ?? ""
        let name = facts.purchases[id].map { $0.productID } ?? ""
        let made = try world.apple.inStore { store -> String? in
            store.now = now
            switch step.kind {
            case .buy: return try self.buy(step, in: &store)
            case .restore: return try store.restore(id).id
            case .renew: return try store.renew(id).id
            case .fail:
                guard !self.hasEnded(id, in: store) else { return nil }
                try store.failToRenew(id)
                return id
            case .upgrade:
                guard self.hasBegun(id, in: store) else { return nil }
                let bundle = self.facts.purchases[id]?.bundleID ?? ""
                return try store.upgrade(id, to: "\(bundle).\(step["product"] == 1 ? "month" : "year")").id
            case .prefer:
                let bundle = self.facts.purchases[id]?.bundleID ?? ""
                try store.downgrade(id, to: "\(bundle).\(step["product"] == 1 ? "month" : "year")")
                return id
            case .turn:
                try store.setRenewal(of: id, isOn: step["on"] == 1)
                return id
            case .convert:
                // Apple does not continue a subscription from a refunded period.
                guard self.newest(of: id, in: store)?.revocation == nil else { return nil }
                return try store.convert(id, namesPrevious: step["previous"] == 1).id
            case .extend:
                try store.extend(id, milliseconds: Int64(1 + step["days"]) * Scenery.day)
                return id
            case .expire:
                guard self.hasBegun(id, in: store) else { return nil }
                try store.expire(id)
                return id
            case .request:
                try store.requestRefund(of: id)
                return id
            case .refund:
                try store.refund(id, milliPercent: step["share"] == 0 ? nil : step["share"])
                return id
            default:
                try store.reverseRefund(of: id)
                return id
            }
        }
        guard let result = made else { return nil }
        switch step.kind {
        case .refund, .reverse:
            let left = world.apple.inStore { $0.transactions[id]?.revocation }
            let share = left.map { $0.milliPercent ?? 100_000 } ?? 0
            facts.purchases[id]?.refunds.append(
                RefundWord(signedAt: now, thousandths: share, isReversal: step.kind == .reverse))
            say(
                step,
                step.kind == .reverse
                    ? "Apple reverses the last refund of \(id): \(share) stays refunded"
                    : "Apple refunds \(share) of \(id)")
        case .buy: break
        case .convert:
            post.conversions.insert(facts.purchases[id]?.originalID ?? id)
            say(step, "Apple tells the newest period of \(id) under another original: \(result)")
        default: say(step, "\(step.kind.rawValue) of \(id) (\(name)): \(result)")
        }
        return result
    }

    /// Returns true if the subscription has ended. Apple does not renew it then, so its renewal cannot fail.
    private func hasEnded(_ id: String, in store: SimulatedStore) -> Bool {
        store.subscriptions[store.transactions[id]?.originalID ?? id]?.hasEnded ?? false
    }

    /// Returns true if the newest period has begun. A period that was renewed in advance cannot be upgraded or ended.
    private func hasBegun(_ id: String, in store: SimulatedStore) -> Bool {
        newest(of: id, in: store).map { $0.purchasedAt <= now } ?? true
    }

    private func newest(of id: String, in store: SimulatedStore) -> StoreTransaction? {
        let original = store.transactions[id]?.originalID ?? id
        return store.subscriptions[original]?.periods.last.flatMap { store.transactions[$0] }
    }

    private func buy(_ step: Step, in store: inout SimulatedStore) throws -> String {
        let app = app(step["app"])
        let account = SimulatedAccount("account-\(step["account"])", bundleID: app.bundleID)
        let payer = Scenery.payer(step["account"])
        var terms = SimulatedTerms(quantity: max(1, step["quantity"]))
        switch step["token"] {
        case 1: terms.accountToken = payer
        case 2: terms.accountToken = Scenery.player(step["account"] + 1)
        default: break
        }
        if step["trial"] == 1 { terms.offer = .freeTrial }
        if step["family"] == 1 { terms.ownership = SimulatedPurchase.OwnershipType.familyShared.rawValue }
        let product = Scenery.products[step["product"] % Scenery.products.count]
        let bought = try store.buy(app.product(product), by: account, terms)
        let token = terms.accountToken.map { " with \(Scenery.name($0))'s token" } ?? ""
        let shared = step["family"] == 1 ? " (shared in the family)" : ""
        say(
            step,
            "\(Scenery.name(payer)) buys \(terms.quantity) \(product) in \(app.bundleID)\(token)\(shared), account \(step["account"]): \(bought.id)"
        )
        return bought.id
    }

    func refresh() {
        let (all, subscriptions) = world.apple.inStore { (Array($0.transactions.values), $0.subscriptions) }
        for one in all {
            let number = Int(one.account.name.split(separator: "-").last ?? "") ?? 0
            var purchase =
                facts.purchases[one.id]
                ?? Purchase(
                    id: one.id, originalID: one.originalID, bundleID: one.account.bundleID, productID: one.product.id,
                    kind: Self.kind(one.product), quantity: one.product.plan == nil ? one.terms.quantity : 1,
                    purchasedAt: one.purchasedAt, account: one.account.name, payer: Scenery.payer(number))
            purchase.firstEnd = purchase.firstEnd ?? one.expiresAt
            purchase.expiresAt = one.expiresAt
            if let subscription = subscriptions[one.originalID], subscription.periods.last == one.id {
                let grace = subscription.renewal.graceExpiresAt
                if let known = purchase.graceEnd, known != grace { post.lostGraces.insert(one.id) }
                purchase.graceEnd = grace ?? purchase.graceEnd
                purchase.isInGrace = grace != nil && !post.lostGraces.contains(one.id)
            } else {
                purchase.isInGrace = false
            }
            purchase.token = one.terms.accountToken
            purchase.isFamilyShared = !one.isPurchased
            purchase.isUpgraded = one.upgradedAt != nil
            purchase.previousOriginalID = one.terms.previousOriginalTransactionID
            purchase.line = one.product.plan == nil ? nil : one.line
            facts.purchases[one.id] = purchase
        }
    }

    private static func kind(_ product: SimulatedProduct) -> Purchase.Kind {
        switch product.kind {
        case .nonConsumable: .nonConsumable
        case .consumable: .consumable
        case .nonRenewingSubscription: .nonRenewing
        case .autoRenewableSubscription: .autoRenewable
        }
    }

    /// Notes the purchase that the notification is about, and the refund that the notification reports.
    private func note(_ notification: SignedNotification, of id: String) {
        let isRefund = ["REFUND", "REVOKE", "REFUND_REVERSED"].contains(notification.type)
        let subject = notification.transactionID ?? id
        if notification.type == "CONSUMPTION_REQUEST" { post.requests[notification.id] = subject }
        post.words[notification.id] = (
            subject, isRefund ? (facts.purchases[subject]?.refunds.count ?? 0) - 1 : nil, now
        )
    }

    /// Publishes a notification as the intake does, and notes its content in the facts.
    func deliver(_ notification: SignedNotification) async throws {
        let place = try? await world.send(
            world.notifications, key: notification.transactionID ?? notification.id,
            value: Array(notification.body.utf8),
            time: nil)
        guard place != nil, let (id, word, signedAt) = post.words[notification.id] else { return }
        if notification.subtype == "GRACE_PERIOD" { post.graces.insert(notification.transactionID ?? id) }
        if post.requests[notification.id] != nil {
            let isGranted = world.outcomes.seen.events.contains { $0.type == "receipt.granted" && $0.transaction == id }
            let request = RefundRequest(transactionID: id, signedAt: signedAt, isGranted: isGranted)
            facts.refundRequests[notification.id] = facts.refundRequests[notification.id] ?? request
        } else if let word {
            if facts.purchases[id]?.refunds.indices.contains(word) ?? false {
                facts.purchases[id]?.refunds[word].isDelivered = true
            }
        } else if ["ONE_TIME_CHARGE", "SUBSCRIBED", "OFFER_REDEEMED", "DID_RENEW"].contains(notification.type)
            || notification.subtype == "UPGRADE"
        {
            facts.purchases[id]?.toldAt.append(signedAt)
            if notification.type == "DID_RENEW", let original = facts.purchases[id]?.originalID {
                let isOwned = world.outcomes.seen.events.contains {
                    $0.type == "receipt.granted" && $0.text("original_transaction_id") == original
                }
                if isOwned { facts.purchases[id]?.isToldToOwner = true }
            }
        }
    }

    /// Notes that the worker has read everything in Apple's notification history, including lost notifications.
    func tellByHistory() {
        for (notification, (id, word, signedAt)) in post.words {
            guard let app = facts.apps[facts.purchases[id]?.bundleID ?? ""], app.hasServerAPI else { continue }
            if post.requests[notification] != nil {
                let request = RefundRequest(transactionID: id, signedAt: signedAt, isGranted: false)
                facts.refundRequests[notification] = facts.refundRequests[notification] ?? request
            } else if let word {
                if facts.purchases[id]?.refunds.indices.contains(word) ?? false {
                    facts.purchases[id]?.refunds[word].isDelivered = true
                }
            } else if facts.purchases[id]?.toldAt.isEmpty ?? false {
                facts.purchases[id]?.toldAt.append(signedAt)
            }
        }
    }

    /// Returns true if Apple reports a period of the subscription under another original transaction too. A refund of
    /// the other transaction affects this subscription as well.
    private func isToldElsewhere(_ subscription: StoreSubscription) -> Bool {
        let lines = Set(subscription.periods.compactMap { facts.purchases[$0]?.line })
        return facts.purchases.values.contains {
            $0.originalID != subscription.originalID && $0.line.map(lines.contains) ?? false
        }
    }

    /// Notes the final state of each subscription whose notifications were all delivered.
    func noteSubscriptions() {
        let present = Self.clock
        let untold = post.untold
        let (subscriptions, transactions) = world.apple.inStore { (Array($0.subscriptions.values), $0.transactions) }
        for one in subscriptions {
            // The worker may have asked Apple since the last notification. So the runner notes a subscription only if
            // its state then and now is the same. Notifications about past periods and refund requests do not show the
            // state.
            let told =
                post.words.filter { one.periods.last == $0.value.purchase && post.requests[$0.key] == nil }
                .map(\.value.signedAt).max() ?? 0
            guard one.state(at: told) == one.state(at: present), one.periods.allSatisfy({ !untold.contains($0) }),
                !post.conversions.contains(one.originalID), !isToldElsewhere(one)
            else { continue }
            // This store renews in advance. So a purchase after a refunded renewal may begin before that renewal, which
            // never happens at Apple. The runner does not note such a subscription.
            let begins = one.periods.compactMap { transactions[$0]?.purchasedAt }
            guard begins == begins.sorted() else { continue }
            // A notification may report before the period's end that billing failed, or that the subscription ended.
            // Until the end, the endpoint `verifyReceipt` reports the subscription as active (docs/contract/events.md).
            // The worker keeps the newer report. The runner does not know which report is newer.
            let isAhead = one.expiresAt > told
            guard !isAhead || [.active, .revoked].contains(one.state(at: present)) else { continue }
            facts.subscriptions[one.originalID] = SubscriptionFact(
                state: one.state(at: present).rawValue, product: one.product.id, willRenew: one.renewal.isOn)
        }
    }
}
