extension Drawing {
    private static let subscriptions = [3, 4]

    /// Mostly the newest: what meets at one purchase matters.
    mutating func recent<Value>(_ values: [Value]) -> Value? {
        guard !values.isEmpty else { return nil }
        return chance.percent(55) ? values[values.count - 1] : chance.pick(values)
    }

    // MARK: At Apple

    mutating func buy() {
        if !bought.isEmpty, bought.count >= most { return trade() }
        var products = [0, 0, 1]
        if has(.nonConsumables) { products += [2, 2] }
        if has(.subscriptions) { products += [3, 3, 3, 4] }
        if has(.unknownProducts) { products += [5] }
        let product = chance.pick(products)
        let (app, account) = (chance.pick(apps), chance.below(has(.thieves) ? 3 : Scenery.accounts))
        var choices = ["app": app, "account": account, "product": product, "told": told()]
        if product <= 1, may(.quantities, 60) { choices["quantity"] = chance.pick([2, 3, 7, 10]) }
        if product >= 3, product <= 4, may(.seats, 40) { choices["quantity"] = chance.pick([2, 5]) }
        if product == 2 { used.insert(.nonConsumables) }
        if Self.subscriptions.contains(product) { used.insert(.subscriptions) }
        if product == 5 { used.insert(.unknownProducts) }
        // Apps that know accounts set tokens, but for what is drawn on purpose.
        var token = app >= 2 ? 1 : 0
        if may(.tokens, 40) { token = chance.pick([0, 1, 2]) }
        choices["token"] = token
        if Self.subscriptions.contains(product), may(.trials, 40) { choices["trial"] = 1 }
        if token != 0, may(.boundAccounts, 40) {
            _ = add(.bind, ["app": app, "token": account + token - 1, "player": account + chance.pick([0, 0, 0, 1])])
        }
        if product == 2, may(.familySharing, 30) { choices["family"] = 1 }
        let number = add(.buy, choices)
        bought.append(Bought(number: number, app: app, account: account, product: product, token: token))
        guard !may(.unsubmitted, 30) else { return }
        take()
        if !taken.isEmpty { submit() }
    }

    /// The way of Apple's notification: 0 at once, 1 never, 2 twice, 3 late.
    private mutating func told() -> Int {
        if may(.lostNews, 30) { return 1 }
        if may(.doubledNews, 30) { return 2 }
        if may(.lateNews, 40) { return 3 }
        return 0
    }

    mutating func trade() {
        guard let subject = recent(bought) else { return buy() }
        let isSubscription = Self.subscriptions.contains(subject.product)
        func entry(_ number: Int, _ product: Int? = nil) -> Bought {
            Bought(
                number: number, app: subject.app, account: subject.account, product: product ?? subject.product,
                token: subject.token)
        }
        let told = told()
        if isSubscription {
            if may(.conversions, 35) {
                let number = add(.convert, ["of": subject.number, "previous": chance.below(2), "told": told])
                bought.append(entry(number))
                return
            }
            if may(.renewals, 35) {
                if has(.longWaits), chance.one(in: 2) { _ = add(.wait, ["hours": 24 * chance.pick([29, 31])]) }
                bought.append(entry(add(.renew, ["of": subject.number, "told": told])))
                return
            }
            if may(.upgrades, 30) {
                let product = chance.below(2)
                bought.append(
                    entry(
                        add(.upgrade, ["of": subject.number, "product": product, "told": told]), product == 1 ? 3 : 4))
                return
            }
            if may(.preferences, 40) {
                if chance.one(in: 2) {
                    _ = add(.prefer, ["of": subject.number, "product": chance.below(2), "told": told])
                } else {
                    _ = add(.turn, ["of": subject.number, "on": chance.below(2), "told": told])
                }
                return
            }
            if may(.endings, 30) {
                _ = add(chance.pick([.fail, .expire, .extend]), ["of": subject.number, "days": 5, "told": told])
                return
            }
        }
        if subject.product == 2, may(.restores, 50) {
            bought.append(entry(add(.restore, ["of": subject.number])))
            return
        }
        if may(.reversals, 30) {
            _ = add(.reverse, ["of": subject.number, "told": told])
            return
        }
        if may(.refunds, 70) {
            var choices = ["of": subject.number, "told": told]
            if may(.parts, 60) { choices["share"] = chance.pick([10_000, 33_333, 50_000, 66_667, 90_000]) }
            _ = add(.refund, choices)
            return
        }
        if may(.lateNews, 30) { _ = add(.deliver, ["order": chance.below(2)]) }
    }

    // MARK: On a device, and at the game server

    mutating func take() {
        guard let subject = recent(bought) else { return }
        var forms = [0]
        if features.contains(.signedTransactions) { forms += [1, 1] }
        if features.contains(.bareIDs), subject.app == 1 || subject.app == 2 { forms += [2] }
        if features.contains(.oldReceipts), subject.product <= 1 { forms += [3] }
        let form = chance.pick(forms)
        if form == 1 { used.insert(.signedTransactions) }
        if form == 2 { used.insert(.bareIDs) }
        if form == 3 { used.insert(.oldReceipts) }
        var choices = ["of": subject.number, "form": form]
        if form <= 1, may(.forgeries, 15) { choices["forged"] = 1 }
        if form == 1, choices["forged"] == nil, may(.oddFacts, 40) { choices["odd"] = 1 + chance.below(7) }
        let number = add(.take, choices)
        taken.append((number, subject, form))
        if may(.emptyAnswers, 30), form == 0 || form == 3 {
            _ = add(.spoil, ["of": number, "times": chance.pick([1, 2, 3, 5])])
        }
        if may(.unknownAtApple, 30) { _ = add(.hide, ["of": subject.number, "times": chance.pick([1, 3, 8, 12])]) }
    }

    mutating func submit() {
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
        // Apps that know accounts send tokens.
        if proof.bought.app >= 2 || proof.form == 2 { choices["token"] = 1 }
        if may(.tokens, 30) { choices["token"] = chance.below(3) }
        if may(.hints, 40) {
            choices["hint"] = 1 + chance.below(2)
            // The purchase is of the same account, so that it may be one that the proof does not hold yet.
            let own = bought.filter { $0.account == proof.bought.account && $0.app == proof.bought.app }
            choices["product"] = recent(own.map(\.product)) ?? 0
        }
        if may(.wrongTimes, 35) { choices["stamp"] = 1 + chance.below(2) }
        if may(.foreignProofs, 15) { choices["alter"] = 1 + chance.below(3) }
        if may(.malformed, 15) { choices["alter"] = 4 }
        submitted.append(add(.submit, choices))
    }

    /// A thief has an old receipt of another's account, and names what that account has bought since.
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

    // MARK: The surroundings

    mutating func surround() {
        if !features.contains(.hopelessReceipts), may(.crowds, 75) {
            _ = add(
                .crowd,
                [
                    "app": chance.pick(apps), "count": chance.pick([8, 16, 32]), "told": told(),
                    "silent": may(.unsubmitted, 50) ? 1 : 0,
                ])
        }
        let before = steps.count
        // One of them, in an order of chance.
        var left: [(inout Drawing) -> Void] = [
            { if $0.may(.kills, 70) { $0.kill() } },
            { if $0.may(.freezes, 30) { $0.add(.freeze, ["milliseconds": $0.chance.pick([300, 2000, 5000])]) } },
            { if $0.may(.secondWorker, 40) { $0.add(.worker) } },
            { if $0.may(.stops, 30) { $0.add(.stop) } },
            { if $0.may(.slowApple, 70) { $0.add(.apple, ["mode": $0.chance.pick([1, 1, 0])]) } },
            { if $0.may(.failingApple, 50) { $0.add(.apple, ["mode": $0.chance.pick([2, 3, 4, 0])]) } },
            { if $0.may(.putBacks, 80) { $0.putBack() } },
            { if $0.may(.cuts, 30) { $0.add(.cut) } },
            { if $0.may(.hangs, 20) { $0.add(.hang, ["milliseconds": $0.chance.pick([500, 10_000])]) } },
            { if $0.may(.transfers, 40) { $0.transfer() } },
            { if $0.may(.brokerTrouble, 30) { $0.add(.broker, ["milliseconds": $0.chance.pick([200, 2000])]) } },
            { if $0.may(.operators, 60) { $0.operate() } },
            { if $0.may(.catalogChanges, 25) { $0.add(.catalog) } },
            { if $0.may(.redrives, 30) { $0.add(.redrive) } },
            { if $0.may(.erasures, 15) { $0.erase() } },
            { if $0.hopeless == nil, $0.may(.hopelessReceipts, 60) { $0.hopeless = $0.add(.hopeless) } },
        ]
        while steps.count == before, !left.isEmpty { left.remove(at: chance.below(left.count))(&self) }
    }

    private mutating func kill() {
        _ = add(
            .kill,
            [
                "when": chance.below(4), "milliseconds": chance.pick([0, 20, 100, 500]),
                "times": chance.pick([1, 1, 2, 4, 6]), "victim": chance.below(2),
            ])
    }

    private mutating func putBack() {
        if hasKept, chance.percent(50) {
            if chance.one(in: 2) { _ = add(.settle) }
            _ = add(.putBack)
            hasKept = false
        } else if !hasKept {
            if chance.one(in: 2) { _ = add(.settle) }
            _ = add(.keep)
            hasKept = true
        }
    }

    private mutating func transfer() {
        guard
            let subject = recent(bought.filter { Self.subscriptions.contains($0.product) && [1, 2].contains($0.app) })
        else { return }
        _ = add(.settle)
        _ = add(.transfer, ["of": subject.number, "player": chance.below(Scenery.players.count)])
    }

    private mutating func erase() {
        _ = add(.settle)
        _ = add(.erase, ["player": chance.below(Scenery.players.count)])
    }

    private mutating func operate() {
        guard let subject = recent(bought) else { return }
        _ = add(.settle)
        let kind: Step.Kind = chance.pick([.release, .release, .refuse, .revoke, .revoke, .reinstate, .rewind])
        _ = add(kind, kind == .rewind ? [:] : ["of": subject.number])
    }
}
