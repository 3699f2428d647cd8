extension Drawing {
    mutating func surround() {
        if may(.crowds, 75) { crowd() }
        let all: [(inout Drawing) -> Void] = [
            { if $0.may(.kills, 70) { $0.kill() } },
            { if $0.may(.freezes, 60) { $0.meetBacklog() } },
            { if $0.may(.freezes, 30) { $0.add(.freeze, ["milliseconds": $0.chance.pick([300, 2000, 5000])]) } },
            { if $0.may(.secondWorker, 40) { $0.add(.worker) } },
            { if $0.may(.stops, 30) { $0.add(.stop) } },
            { if $0.may(.slowApple, 70) { $0.troubleApple([1, 1, 0]) } },
            { if $0.may(.failingApple, 50) { $0.troubleApple([2, 3, 4, 0]) } },
            { if $0.may(.limitingApple, 40) { $0.limitApple() } },
            { if $0.may(.putBacks, 80) { $0.putBack() } },
            { if $0.may(.cuts, 30) { $0.add(.cut) } },
            { if $0.may(.hangs, 20) { $0.hang() } },
            { if $0.may(.transfers, 40) { $0.transfer() } },
            { if $0.may(.brokerTrouble, 30) { $0.add(.broker, ["milliseconds": $0.chance.pick([200, 2000])]) } },
            { if $0.may(.operators, 60) { $0.operate() } },
            { if $0.has(.operators) { $0.refuseHold() } },
            { if $0.has(.operators) { $0.refuseThief() } },
            { if $0.has(.operators) { $0.refundHeld() } },
            { if $0.may(.catalogChanges, 25) { $0.add(.catalog) } },
            { if $0.may(.changedPolicies, 40) { $0.changePolicy() } },
            { if $0.may(.redrives, 30) { $0.add(.redrive) } },
            { if $0.may(.erasures, 15) { $0.erase() } },
            { if $0.hopeless == nil, $0.may(.hopelessReceipts, 60) { $0.hopeless = $0.add(.hopeless) } },
        ]
        attempt(all, favourite: favourites.fault)
    }

    private mutating func crowd() {
        guard !features.contains(.hopelessReceipts) else { return }
        let (app, count) = (chance.pick(apps), chance.pick([8, 16, 32]))
        let silent = may(.unsubmitted, 60) ? 1 + chance.below(2) : 0
        let number = add(
            .crowd,
            ["app": app, "count": count, "told": told(), "each": chance.pick([1, 1, 3]), "silent": silent])
        if silent == 2, !hasKept, may(.putBacks, 60) { putBack() }
        if silent == 2 { owed.append { $0.add(.crowd, ["of": number, "app": app, "count": count]) } }
        if chance.one(in: 2), may(.thieves, 60) {
            let player = 1 + chance.below(3)
            owed.append { $0.add(.crowd, ["of": number, "app": app, "count": count, "player": player]) }
        }
    }

    /// Adds a rate limit of Apple. Its `Retry-After` has one of three forms: seconds, a date, or milliseconds since
    /// 1970, as Apple sends it.
    private mutating func limitApple() {
        add(
            .limit,
            ["app": chance.pick(apps), "count": 6, "seconds": 6, "form": chance.below(3), "told": told()])
    }

    private mutating func troubleApple(_ modes: [Int]) { add(.apple, ["mode": chance.pick(modes)]) }

    /// Adds a fault while another fault lasts. First, submissions arrive that the worker cannot finish. Then a worker
    /// dies or stops, another worker joins, or the database is restored from its backup.
    mutating func overlap() {
        if chance.one(in: 2) { add(.settle) }
        let isApple = chance.percent(70)
        if isApple, may(.failingApple, 80) {
            troubleApple([2, 2, 3, 4])
        } else if isApple, may(.slowApple, 50) {
            troubleApple([1])
        }
        work(chance.below(4))
        wait([0, 100, 400, 1500])
        let before = steps.count
        if may(.brokerTrouble, 60) { add(.broker, ["milliseconds": chance.pick([2000, 5000]), "open": 1]) }
        if may(.hangs, 40) {
            add(.hang, ["milliseconds": chance.pick([500, 3000, 14_000]), "open": 1, "busy": chance.below(2)])
        }
        if may(.freezes, 30) { add(.freeze, ["milliseconds": chance.pick([1000, 6000]), "open": 1]) }
        if steps.count > before { work(chance.below(3)) }
        if may(.operators, 60) { operate(settled: false) }
        if isApple, chance.one(in: 2) { add(.apple) }
        wait([0, 100, 1500, 3000])
        var left: [(inout Drawing) -> Void] = [
            { if $0.may(.kills, 80) { $0.add(.kill) } },
            { if $0.may(.kills, 80) { $0.add(.kill, ["when": 4]) } },
            { if $0.may(.stops, 60) { $0.add(.stop) } },
            { if $0.may(.secondWorker, 60) { $0.add(.worker) } },
            {
                guard $0.hasKept, $0.may(.putBacks, 80) else { return }
                $0.add(.putBack)
                $0.hasKept = false
            },
        ]
        let troubled = steps.count
        while steps.count == troubled, !left.isEmpty { left.remove(at: chance.below(left.count))(&self) }
        if isApple, chance.percent(70) {
            wait([0, 1000, 4000])
            add(.apple)
        }
    }

    /// Adds the freeze of a worker, and steps of Apple and the game servers during the freeze. The worker then reads
    /// the new records in one batch.
    private mutating func meetBacklog() {
        if chance.one(in: 2) { add(.settle) }
        add(.freeze, ["milliseconds": chance.pick([1500, 3000]), "open": 1])
        isInHaste = true
        work(2 + chance.below(4))
        if has(.lateNews), chance.percent(70) {
            used.insert(.lateNews)
            add(.deliver, ["order": chance.below(2)])
        }
        isInHaste = false
    }

    /// Adds `count` random steps: purchases, changes at Apple, and submissions. These steps come before a fault, or
    /// while a fault lasts.
    private mutating func work(_ count: Int) {
        for _ in 0..<count {
            switch chance.below(5) {
            case 0: trade()
            case 1: if may(.crowds, 60) { crowd() } else { buy() }
            case 2: submit()
            default:
                take()
                submit()
            }
        }
    }

    private mutating func wait(_ choices: [Int]) {
        let milliseconds = chance.pick(choices)
        if milliseconds > 0 { add(.pause, ["milliseconds": milliseconds]) }
    }

    private mutating func kill() {
        _ = add(
            .kill,
            [
                "when": chance.below(5), "milliseconds": chance.pick([0, 20, 100, 500]),
                "times": chance.pick([1, 1, 2, 4, 6]), "victim": chance.below(2),
            ])
    }

    /// Adds a backup of the database and its restore a moment later. The restore has the effect of a fail-over to a
    /// standby that lags. The worker writes checkpoints once a second, so some decisions lie between the backup and the
    /// next checkpoint.
    private mutating func lag() {
        add(.settle)
        add(.keep)
        hasKept = true
        if may(.crowds, 50) { crowd() }
        take()
        submit()
        wait([50, 100, 200, 300])
        add(.putBack)
        hasKept = false
    }

    private mutating func putBack() {
        if !hasKept, chance.percent(40) { return lag() }
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

    /// Makes all database sessions hang, or one session that is in an SQL transaction. The worker counts a session as
    /// hung 9 s after its last answer.
    private mutating func hang() {
        let isBusy = chance.below(2)
        if isBusy == 1 {
            if may(.crowds, 60) { crowd() }
            take()
            submit()
        }
        add(.hang, ["milliseconds": chance.pick([500, 12_000]), "busy": isBusy])
    }

    private mutating func transfer() {
        guard
            let subject = recent(
                bought.filter { Self.subscriptions.contains($0.product) && [1, 2, 4].contains($0.app) })
        else { return }
        _ = add(.settle)
        _ = add(.transfer, ["of": subject.number, "player": chance.below(Scenery.players.count)])
    }

    /// Adds a change of the policy for missed purchases. In most cases a later step changes the policy back.
    private mutating func changePolicy() {
        if chance.one(in: 2) { add(.settle) }
        add(.catalog, ["missed": 1])
        if chance.percent(70) { owed.append { $0.add(.catalog, ["missed": 1]) } }
    }

    private mutating func erase() {
        _ = add(.settle)
        // In most cases the erased player has submitted, so the worker may read the player's records again.
        let player = chance.one(in: 3) ? nil : taken.last?.bought.account
        _ = add(.erase, ["player": (player ?? chance.below(8)) % Scenery.players.count])
        guard chance.one(in: 2) else { return }
        if chance.one(in: 2) { add(.settle) }
        if has(.operators), chance.one(in: 2) {
            used.insert(.operators)
            add(.rewind)
        } else if !submitted.isEmpty {
            add(.again, ["of": chance.pick(submitted)])
        }
    }

    /// Adds an operator's act. In most cases a later step reinstates a revoked grant. Apple may refund the purchase in
    /// between.
    private mutating func operate(settled: Bool = true) {
        guard let index = recent(Array(bought.indices)) else { return }
        if settled { add(.settle) }
        let number = bought[index].number
        if bought[index].isRevoked, chance.one(in: 2) { return reinstate(index) }
        let kind: Step.Kind = chance.pick([.release, .release, .refuse, .revoke, .revoke, .revoke, .rewind])
        add(kind, kind == .rewind ? [:] : ["of": number])
        guard kind == .revoke else { return }
        bought[index].isRevoked = true
        if chance.percent(60) { owed.append { $0.trade(of: index) } }
        if chance.percent(80) { owed.append { $0.reinstate(index) } }
    }

    private mutating func reinstate(_ index: Int) {
        bought[index].isRevoked = false
        if chance.one(in: 2) { add(.settle) }
        add(.reinstate, ["of": bought[index].number])
    }
}
