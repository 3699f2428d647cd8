extension Drawing {
    static let subscriptions = [3, 4]

    /// Returns the newest value in most cases, because faults occur where several steps affect one purchase.
    mutating func recent<Value>(_ values: [Value]) -> Value? {
        guard !values.isEmpty else { return nil }
        return chance.percent(55) ? values[values.count - 1] : chance.pick(values)
    }

    // MARK: At Apple

    mutating func buy() {
        if !bought.isEmpty, bought.count >= most { return trade() }
        var products = [0, 0, 1]
        if has(.nonConsumables) { products += [2, 2] }
        if has(.subscriptions) { products += [3, 3, 3, 3, 4, 4] }
        if has(.unknownProducts) { products += [5] }
        let product = chance.pick(products)
        let (app, account) = (chance.pick(apps), chance.below(has(.thieves) ? 3 : Scenery.accounts))
        var choices = ["app": app, "account": account, "product": product, "told": told()]
        if product <= 1, may(.quantities, 60) { choices["quantity"] = chance.pick([2, 3, 7, 10]) }
        if product >= 3, product <= 4, may(.seats, 40) { choices["quantity"] = chance.pick([2, 5]) }
        if product == 2 { used.insert(.nonConsumables) }
        if Self.subscriptions.contains(product) { used.insert(.subscriptions) }
        if product == 5 { used.insert(.unknownProducts) }
        // Apps 2 to 4 use account tokens. Their purchases have the payer's token, unless the feature `tokens` chooses
        // another token.
        var token = app >= 2 ? 1 : 0
        if may(.tokens, 50) { token = chance.pick([0, 1, 2]) }
        choices["token"] = token
        if Self.subscriptions.contains(product), may(.trials, 40) { choices["trial"] = 1 }
        if token != 0, may(.boundAccounts, 60) {
            add(
                .bind,
                [
                    "app": app, "token": account + token - 1, "player": account + chance.pick([0, 0, 0, 1]),
                    "corrected": chance.below(2),
                ])
        }
        if product == 2, may(.familySharing, 30) { choices["family"] = 1 }
        let number = add(.buy, choices)
        bought.append(
            Bought(
                number: number, app: app, account: account, product: product, token: token, renewsYearly: product == 4))
        // Apple changes a third of the purchases later, and most subscriptions more than once.
        let (index, isPlan) = (bought.count - 1, Self.subscriptions.contains(product))
        for _ in 0..<(isPlan ? 3 : 1) where chance.percent(isPlan ? 70 : 30) { owed.append { $0.trade(of: index) } }
        guard !may(.unsubmitted, 60) else { return }
        take()
        if !taken.isEmpty { submit() }
    }

    /// Chooses how Apple's notification arrives: 0 at once, 1 never, 2 twice, 3 late.
    mutating func told() -> Int {
        if may(.lostNews, 30) { return 1 }
        if may(.doubledNews, 30) { return 2 }
        if may(.lateNews, 40) { return 3 }
        return 0
    }

    /// Adds a change that Apple makes to a purchase.
    mutating func trade(of index: Int? = nil) {
        guard let index = index ?? recent(Array(bought.indices)) else { return buy() }
        let subject = bought[index]
        // In a quarter of the cases the workers first finish their work, so that the change affects a purchase that is
        // already granted.
        if !isInHaste, !submitted.isEmpty, chance.one(in: 4) { add(.settle) }
        var all: [(inout Drawing) -> Void] = [
            { $0.refund(index) }, { $0.request(subject) },
            { $0.restore(subject) },
            { if $0.may(.lateNews, 20) { $0.add(.deliver, ["order": $0.chance.below(2)]) } },
        ]
        if Self.subscriptions.contains(subject.product) {
            for _ in 0..<2 {
                all += [
                    { $0.prefer(index) }, { $0.renew(subject) }, { $0.change(subject) }, { $0.end(subject) },
                ]
            }
        }
        attempt(all, favourite: favourites.trade)
    }

    /// Restores a non-consumable, as a new device does. In most cases the game submits the copy.
    private mutating func restore(_ subject: Bought) {
        guard subject.product == 2, may(.restores, 80) else { return }
        goesOn(subject, add(.restore, ["of": subject.number]))
        guard chance.percent(60) else { return }
        take()
        submit()
        if chance.one(in: 2) { owed.append { $0.restore(subject) } }
    }

    /// Adds the transaction that a step made from the purchase `subject`. Without `product` the transaction has the
    /// product of `subject`.
    private mutating func goesOn(_ subject: Bought, _ number: Int, _ product: Int? = nil) {
        bought.append(
            Bought(
                number: number, app: subject.app, account: subject.account, product: product ?? subject.product,
                token: subject.token, renewsYearly: (product ?? subject.product) == 4))
    }

    private mutating func refund(_ index: Int) {
        let number = bought[index].number
        if bought[index].isRefunded, may(.reversals, 70) {
            bought[index].isRefunded = false
            add(.reverse, ["of": number, "told": told()])
        } else if may(.refunds, 80) {
            bought[index].isRefunded = true
            var choices = ["of": number, "told": told()]
            if may(.parts, 60) { choices["share"] = chance.pick([10_000, 33_333, 50_000, 66_667, 90_000]) }
            add(.refund, choices)
            if chance.one(in: 2) { owed.append { $0.refund(index) } }
        }
    }

    /// Adds a customer's request for a refund, and Apple's CONSUMPTION_REQUEST for it.
    private mutating func request(_ subject: Bought) {
        guard may(.refundRequests, 70) else { return }
        if chance.one(in: 2) { add(.settle) }
        let report = ["of": subject.number, "percent": chance.pick([0, 40_000, 100_000]), "refuses": chance.below(2)]
        if chance.one(in: 3) { add(.report, report) }
        add(.request, ["of": subject.number, "told": told()])
        if chance.one(in: 4) { owed.append { $0.add(.report, report) } }
    }

    private mutating func renew(_ subject: Bought) {
        guard may(.renewals, 80) else { return }
        if has(.longWaits), chance.one(in: 2) { add(.wait, ["hours": 24 * chance.pick([29, 31])]) }
        goesOn(subject, add(.renew, ["of": subject.number, "told": told()]))
    }

    /// Adds a customer's choice: the product of the next period, or renewal off or on.
    private mutating func prefer(_ index: Int) {
        guard may(.preferences, 80) else { return }
        let number = bought[index].number
        if chance.percent(60) {
            if chance.percent(80) { bought[index].renewsYearly.toggle() }
            add(.prefer, ["of": number, "product": bought[index].renewsYearly ? 0 : 1, "told": told()])
            if chance.one(in: 3) { add(.settle) }
        } else {
            let isOn = chance.below(2)
            add(.turn, ["of": number, "on": isOn, "told": told()])
            if isOn == 0, chance.one(in: 2) { owed.append { $0.add(.turn, ["of": number, "on": 1]) } }
        }
    }

    /// Converts the subscription to another original transaction, or upgrades it to another product at once.
    private mutating func change(_ subject: Bought) {
        if chance.one(in: 2), may(.conversions, 80) {
            goesOn(subject, add(.convert, ["of": subject.number, "previous": chance.below(2), "told": told()]))
            let index = bought.count - 1
            if has(.refunds), chance.one(in: 2) { owed.append { $0.refund(index) } }
        } else if may(.upgrades, 80) {
            let product = chance.below(2)
            goesOn(
                subject, add(.upgrade, ["of": subject.number, "product": product, "told": told()]), product == 1 ? 3 : 4
            )
        }
    }

    private mutating func end(_ subject: Bought) {
        guard may(.endings, 70) else { return }
        let kind = chance.pick([Step.Kind.fail, .expire, .extend])
        let isLate = kind == .fail && may(.longWaits, 50)
        if isLate { add(.wait, ["hours": 24 * 31]) }
        add(kind, ["of": subject.number, "days": 5, "told": told()])
        guard isLate else { return }
        add(.settle)
        take()
        submit()
    }

    // MARK: On a device, and at the game server

    mutating func take() {
        guard let subject = recent(bought) else { return }
        var forms = [0]
        if features.contains(.signedTransactions) { forms += [1, 1] }
        if features.contains(.bareIDs), [1, 2, 4].contains(subject.app) { forms += [2] }
        if features.contains(.oldReceipts), subject.product <= 1 { forms += [3] }
        let form = chance.pick(forms)
        if form == 1 { used.insert(.signedTransactions) }
        if form == 2 { used.insert(.bareIDs) }
        if form == 3 { used.insert(.oldReceipts) }
        var choices = ["of": subject.number, "form": form]
        if form <= 1, may(.forgeries, 20) {
            choices["forged"] = 1
            // The forger takes Apple's signature from another proof, and puts it on other content.
            let known = taken.filter { $0.form == form && $0.bought.app == subject.app }
            if let known = recent(known), chance.percent(70) { choices["like"] = known.number }
        }
        if form == 1, choices["forged"] == nil, may(.oddFacts, 40) { choices["odd"] = 1 + chance.below(7) }
        let number = add(.take, choices)
        taken.append((number, subject, form))
        if may(.emptyAnswers, 30), form == 0 || form == 3 {
            _ = add(.spoil, ["of": number, "times": chance.pick([1, 2, 3, 5]), "status": chance.below(3)])
        }
        if may(.unknownAtApple, 30) { _ = add(.hide, ["of": subject.number, "times": chance.pick([1, 3, 8, 12])]) }
    }

    mutating func submit() {
        if let proof = taken.last, hasKept, may(.thieves, 30) {
            // Both submissions come after the backup. So the restored database has neither submission.
            for player in [proof.bought.account, proof.bought.account + chance.below(4)] {
                submitted.append(add(.submit, ["of": proof.number, "player": player % Scenery.players.count]))
            }
            return
        }
        if !submitted.isEmpty, may(.repeats, 25) {
            _ = add(.again, ["of": chance.pick(submitted)])
            return
        }
        if may(.thieves, 20), steal() { return }
        let isStale = !taken.isEmpty && may(.staleProofs, 40)
        guard let proof = isStale ? chance.pick(taken) : taken.last else { return take() }
        var player = proof.bought.account % Scenery.players.count
        if may(.thieves, 35) { player = chance.below(Scenery.players.count) }
        var choices = ["of": proof.number, "player": player]
        // The game servers of apps that use account tokens send the player's token.
        if proof.bought.app >= 2 || proof.form == 2 { choices["token"] = 1 }
        if may(.tokens, 50) { choices["token"] = chance.below(3) }
        if may(.hints, 40) {
            choices["hint"] = 1 + chance.below(2)
            // The hint names a product that the same account bought. The proof may not contain that purchase yet.
            let own = bought.filter { $0.account == proof.bought.account && $0.app == proof.bought.app }
            choices["product"] = recent(own.map(\.product)) ?? 0
        }
        if may(.wrongTimes, 35) { choices["stamp"] = 1 + chance.below(2) }
        if may(.foreignProofs, 15) { choices["alter"] = 1 + chance.below(3) }
        if may(.malformed, 15) { choices["alter"] = 4 }
        submitted.append(add(.submit, choices))
    }

    /// Adds a thief's submission of an old receipt of another account. The submission's hint names a product that
    /// this account has bought since then.
    private mutating func steal() -> Bool {
        guard let newest = bought.last,
            let old = taken.last(where: {
                $0.form == 0 && $0.bought.account == newest.account && $0.bought.app == newest.app
                    && $0.bought.product != newest.product && $0.number < newest.number
            })
        else { return false }
        used.insert(.hints)
        submitted.append(
            add(
                .submit,
                ["of": old.number, "player": newest.account + 1, "hint": 2, "product": newest.product]))
        return true
    }
}
