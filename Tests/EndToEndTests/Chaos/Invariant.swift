/// A rule that every run must keep, whatever the faults.
enum Invariant: String, CaseIterable, Sendable {
    case noGrantLost = "I1 no grant lost"
    case noneDoubled = "I2 none doubled"
    case everyGrantPublished = "I3 every grant published, as it was written"
    case oneOutcome = "I4 every record has its one outcome"
    case noContradiction = "I5 no contradiction"
    case commitsAreSafe = "I6 commits never run ahead"
    case orderPerPlayer = "I7 order per player"
    case appleIsSpared = "I8 Apple is spared when it must be"
    case bounded = "I9 bounded, and fast again"
    case deliversWhatIsTold = "I11 what Apple tells of is granted once, and revoked where it is refunded"
    case settles = "I10 everything is done without a restart"
}

/// The result for one invariant. `problems` lists the violations, and is empty if the run kept the invariant.
struct Verdict: Sendable, CustomStringConvertible {
    let invariant: Invariant
    let problems: [String]

    var description: String {
        guard let first = problems.first else { return "\(invariant.rawValue): holds" }
        let more = problems.count > 1 ? " (and \(problems.count - 1) more)" : ""
        return "\(invariant.rawValue): BROKEN: \(first)\(more)"
    }
}

extension Evidence {
    func judged() -> [Verdict] {
        Invariant.allCases.map { Verdict(invariant: $0, problems: problems(of: $0)) }
    }

    private func problems(of invariant: Invariant) -> [String] {
        switch invariant {
        case .noGrantLost: lostGrants()
        case .noneDoubled: doubledGrants()
        case .everyGrantPublished: publication()
        case .oneOutcome: outcomes()
        case .noContradiction: contradictions()
        case .commitsAreSafe: monitor.commitFaults
        case .orderPerPlayer: disorder()
        case .appleIsSpared: appleTroubled()
        case .bounded: unbounded()
        case .deliversWhatIsTold: undelivered()
        case .settles: progress.unsettled + monitor.endedWorkers + faults
        }
    }

    private func lostGrants() -> [String] {
        let granted = Set(grants.map(\.transactionID))
        return plan.certainGrants.subtracting(granted).sorted().map { "the genuine purchase \($0) was not granted" }
            + plan.contests.filter { granted.isDisjoint(with: $0) }.map { "nobody was granted any of \($0)" }
    }

    /// Returns the purchases that an inventory service would give twice if the service recognises repeated events by
    /// the event's id.
    private func doubledGrants() -> [String] {
        var given: [String: Set<String>] = [:]
        var players: [String: Set<String>] = [:]
        for event in events where event.type == "receipt.granted" {
            given[event.transactionID ?? "-", default: []].insert(event.id)
            players[event.transactionID ?? "-", default: []].insert(event.playerID)
        }
        var problems = given.filter { $0.value.count > 1 }.map { "\($0.key) is given \($0.value.count) times" }
        problems += players.filter { $0.value.count > 1 }.map { "\($0.key) is given to \($0.value.sorted())" }
        var rows: Set<String> = []
        problems += grants.filter { !rows.insert($0.transactionID).inserted }.map { "two rows for \($0.transactionID)" }
        let known = plan.certainGrants.union(plan.contests.flatMap { $0 }).union(told.purchases.map(\.id))
        problems += rows.subtracting(known).map { "\($0) was granted, which it must not" }
        problems += plan.contests.filter { contest in contest.count { rows.contains($0) } > 1 }.map {
            "all of \($0) were granted"
        }
        return problems
    }

    private func undelivered() -> [String] {
        let wanted = told.purchases.inForce
        var problems = wanted.keys.sorted().compactMap { id in
            told.inForce[id] == wanted[id] ? nil : "Apple told of \(id), and \(told.inForce[id] ?? "nobody") has it"
        }
        problems += told.inForce.keys.filter { wanted[$0] == nil }.sorted().map {
            "\($0) was refunded and is in force"
        }
        let granted = Set(events.filter { $0.type == "receipt.granted" }.compactMap(\.transactionID))
        problems += wanted.keys.filter { !granted.contains($0) }.sorted().map { "the delivery of \($0) was never told" }
        return problems
    }

    private func publication() -> [String] {
        var problems: [String] = []
        var first: [String: Event] = [:]
        // A worker makes a lost decision again, at another time. The decision's event then has several versions with
        // different bytes.
        var copies: [String: Set<[UInt8]>] = [:]
        for event in events { copies[event.id, default: []].insert(event.value) }
        var unpublished = Dictionary(grants.map { ($0.transactionID, $0) }, uniquingKeysWith: { one, _ in one })
        let rows = unpublished
        let refunded = told.purchases.refunded
        for event in events {
            if let known = first[event.id] {
                if (known.value != event.value && !isLossy) || known.key != event.key
                    || known.partition != event.partition
                {
                    problems.append("copies of the event \(event.id) differ")
                }
                continue
            }
            first[event.id] = event
            if event.key != Array(event.playerID.utf8) { problems.append("the event \(event.id) has another key") }
            guard event.type == "receipt.granted", let transaction = event.transactionID else { continue }
            unpublished[transaction] = nil
            guard let row = rows[transaction] else {
                if isLossy, refunded.contains(transaction) { continue }
                problems.append("\(transaction) was told and never granted")
                continue
            }
            let isTold = isLossy ? copies[event.id]?.contains(row.event) ?? false : row.event == event.value
            if !isTold || row.playerID != event.playerID || row.submissionID != event.submissionID {
                problems.append("the grant of \(transaction) is another than its event")
            }
        }
        return problems + unpublished.keys.sorted().map { "the grant of \($0) was never told" }
    }

    /// The events of each submission, without repeated events.
    private var answers: [String: [String: Truth.Expected]] {
        var answers: [String: [String: Truth.Expected]] = [:]
        for event in events where !event.isOfTold {
            answers[event.submissionID, default: [:]][event.id] =
                switch event.type {
                case "receipt.granted": .granted(event.transactionID ?? "-")
                case "receipt.held": .held(event.reason ?? "-")
                case "receipt.rejected": .rejected(event.reason ?? "-")
                default: .rejected("unexpected \(event.type)")
                }
        }
        return answers
    }

    private func outcomes() -> [String] {
        var all = answers
        var problems: [String] = []
        for (id, truth) in plan.truths {
            let events = all.removeValue(forKey: id) ?? [:]
            if Set(events.values).count != events.count || !truth.alternatives.contains(Set(events.values)) {
                problems.append("submission \(id): \(Array(events.values)), not one of \(truth.alternatives)")
            }
        }
        problems += all.keys.map { "an event for the submission \($0), which nobody sent" }
        for (key, reason) in plan.deadLetters where deadLetters[key] != [reason] {
            problems.append("the record \(key) is a dead letter for \(deadLetters[key] ?? []), not \(reason)")
        }
        problems += deadLetters.keys.filter { plan.deadLetters[$0] == nil }.map { "\($0) must be no dead letter" }
        let holds = plan.truths.values.count { truth in
            truth.alternatives.contains { $0.contains { if case .held = $0 { true } else { false } } }
        }
        if heldTransactions != holds { problems.append("\(heldTransactions) transactions are held, not \(holds)") }
        return problems
    }

    private func contradictions() -> [String] {
        var problems: [String] = []
        for (id, events) in answers {
            let isRejected = events.values.contains { if case .rejected = $0 { true } else { false } }
            let isGranted = events.values.contains { if case .granted = $0 { true } else { false } }
            if isRejected, isGranted { problems.append("submission \(id) is granted and rejected") }
            let mayBeRejected = plan.truths[id]?.alternatives.contains { alternative in
                alternative.contains { if case .rejected = $0 { true } else { false } }
            }
            if isRejected, mayBeRejected == false { problems.append("the genuine submission \(id) is rejected") }
        }
        return problems
    }
}
