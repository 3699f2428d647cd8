/// Adds sequences of steps about holds, which an operator refuses or releases.
extension Drawing {
    /// Adds a period whose hold an operator refuses. Then another player submits the period. The subscription belongs
    /// to the first player.
    mutating func refuseHold() {
        guard has(.thieves), has(.oddFacts), let app = apps.first(where: { $0 == 0 || $0 == 3 }) else { return }
        let plans = bought.filter { Self.subscriptions.contains($0.product) && $0.app == app && $0.token < 2 }
        var subject: Bought
        if let known = recent(plans) {
            subject = known
        } else {
            guard has(.subscriptions), has(.signedTransactions) else { return }
            let choices = ["app": app, "account": chance.below(3), "product": 3, "token": app == 3 ? 1 : 0]
            subject = own(choices)
        }
        used.formUnion([.operators, .thieves, .oddFacts, .subscriptions, .signedTransactions])
        submit(subject, by: subject.account)
        let period = add(.renew, ["of": subject.number, "told": told()])
        subject = Bought(
            number: period, app: app, account: subject.account, product: subject.product, token: subject.token)
        bought.append(subject)
        submit(subject, by: subject.account, odd: 1 + chance.below(6))
        add(.settle)
        add(.refuse, ["of": period])
        submit(subject, by: subject.account + 1 + chance.below(2))
    }

    /// Adds a purchase that a thief submits and the worker holds. An operator refuses the hold, mostly before the payer
    /// submits the same purchase.
    mutating func refuseThief() {
        guard has(.thieves) else { return }
        let product = chance.pick([0] + (has(.nonConsumables) ? [2, 2] : []) + (has(.subscriptions) ? [3] : []))
        if product == 2 { used.insert(.nonConsumables) }
        if product == 3 { used.insert(.subscriptions) }
        used.formUnion([.operators, .thieves, .oddFacts, .signedTransactions])
        let subject = own(["app": 0, "account": chance.below(3), "product": product, "told": told()])
        let isRefusedFirst = chance.percent(70)
        submit(subject, by: subject.account + 1 + chance.below(2), odd: 1 + chance.below(6))
        add(.settle)
        if isRefusedFirst { add(.refuse, ["of": subject.number]) }
        if chance.one(in: 3) { add(.restore, ["of": subject.number]) }
        submit(subject, by: subject.account)
        if !isRefusedFirst {
            add(.settle)
            add(.refuse, ["of": subject.number])
        }
    }

    /// Adds a purchase of several units that Apple refunds in part while the worker holds it. Then an operator releases
    /// the hold, or a new catalog contains the product.
    mutating func refundHeld() {
        guard has(.unknownProducts), has(.parts), has(.refunds), has(.quantities) else { return }
        used.formUnion([.operators, .unknownProducts, .parts, .refunds, .quantities])
        let app = chance.pick(apps)
        let subject = own([
            "app": app, "account": chance.below(3), "product": 5, "token": app >= 2 ? 1 : 0,
            "quantity": chance.pick([2, 3, 7, 10]),
        ])
        submit(subject, by: subject.account)
        if chance.one(in: 2) { add(.settle) }
        add(.refund, ["of": subject.number, "share": chance.pick([10_000, 33_333, 50_000])])
        add(.settle)
        if may(.catalogChanges, 50) { add(.catalog) } else { add(.release, ["of": subject.number]) }
    }

    private mutating func own(_ choices: [String: Int]) -> Bought {
        let one = Bought(
            number: add(.buy, choices), app: choices["app"] ?? 0, account: choices["account"] ?? 0,
            product: choices["product"] ?? 0, token: choices["token"] ?? 0)
        bought.append(one)
        return one
    }

    /// Adds a player's submission of the signed transaction of `subject`. If `odd` is not 0, the worker cannot read one
    /// of the transaction's facts.
    private mutating func submit(_ subject: Bought, by player: Int, odd: Int = 0) {
        let proof = add(.take, ["of": subject.number, "form": 1, "odd": odd])
        if odd == 0 { taken.append((proof, subject, 1)) }
        submitted.append(
            add(
                .submit,
                ["of": proof, "player": player % Scenery.players.count, "token": subject.app >= 2 ? 1 : 0]))
    }
}
