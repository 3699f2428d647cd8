import Encodings

extension Model {
    func form() -> [Difference] {
        seen.events.flatMap { event -> [Difference] in
            var found: [Difference] = []
            if event.key != event.player {
                found.append(.init(.wellFormed, "event \(event.id) is keyed by \(event.key), not by \(event.player)"))
            }
            if ["receipt.granted", "receipt.revoked", "receipt.reinstated"].contains(event.type) {
                let names = ["transaction_id", "original_transaction_id", "product_id", "environment", "purchased_at"]
                found += names.filter { event.text($0) == nil }.map {
                    .init(.wellFormed, "\(event.type) of \(event.transaction ?? "-") has no \($0)")
                }
            }
            return found
        }
    }

    /// Checks that all copies of an event have equal JSON and equal keys. After a restore only `Event.effect` must be
    /// equal, because the worker may decide submissions in another order, and Apple's data may have changed.
    func contents() -> [Difference] {
        var first: [String: Event] = [:]
        var found: [Difference] = []
        for event in seen.events {
            guard let known = first[event.id] else {
                first[event.id] = event
                continue
            }
            // The worker decides a submission again if the database lost the decision. Other submissions may come first
            // this time, so the answer may differ.
            let isAnswer = ["receipt.rejected", "receipt.held"].contains(event.type)
            if facts.conditions.wasPutBack && isAnswer { continue }
            // No worker repeats an operator's order that the restore lost. A later revocation has a new revision, and
            // so a new event id.
            let subject = event.transaction ?? event.text("original_transaction_id") ?? ""
            let isRevocation = ["receipt.revoked", "receipt.reinstated"].contains(event.type)
            if facts.conditions.wasPutBack, erased.contains(family(of: subject)) { continue }
            if facts.conditions.lostOrders.contains(subject), !isRevocation { continue }
            let isSame =
                facts.conditions.wasPutBack ? known.effect == event.effect : known.json == event.json
            if !isSame || known.key != event.key {
                found.append(
                    .init(
                        .oneContent,
                        "\(event.type) \(event.id) of \(event.transaction ?? event.submission) was published with two "
                            + "contents: \(Self.unlike(known, event))"))
            }
        }
        return found
    }

    /// Returns the members in which two events differ, without `occurred_at`.
    private static func unlike(_ one: Event, _ two: Event) -> String {
        guard case .object(let first) = one.json, case .object(let second) = two.json else { return "" }
        let names = Set((first + second).map(\.name)).subtracting(["occurred_at"]).sorted()
        return names.filter { one.json[$0] != two.json[$0] }.map { name in
            "\(name) (\(short(one.json[name])), then \(short(two.json[name])))"
        }.joined(separator: ", ")
    }

    private static func short(_ value: JSONValue?) -> String {
        switch value {
        case .string(let text): String(text.prefix(40))
        case .number(let text): text
        case .array(let all): "\(all.count) elements"
        case nil: "absent"
        default: "another"
        }
    }

    /// Returns the events of each transaction's grant, revocations and reinstatements, each event once, sorted by
    /// revision.
    func changes() -> [String: [Event]] {
        var ids: Set<String> = []
        let told = seen.events.filter {
            ["receipt.granted", "receipt.revoked", "receipt.reinstated"].contains($0.type) && ids.insert($0.id).inserted
        }
        return Dictionary(grouping: told) { $0.transaction ?? "" }
            .mapValues { $0.sorted { $0.number("revision") ?? 0 < $1.number("revision") ?? 0 } }
    }

    func revisions() -> [Difference] {
        changes().flatMap { id, events -> [Difference] in
            var found: [Difference] = []
            let numbers = events.map { $0.number("revision") ?? 0 }
            if Set(numbers).count != numbers.count {
                found.append(.init(.revisions, "two events of \(id) have one revision: \(numbers)"))
            }
            if events.count(where: { $0.type == "receipt.granted" }) != 1 {
                found.append(
                    .init(.oneGrant, "\(id) has \(events.count { $0.type == "receipt.granted" }) granted events"))
            } else if events.first?.type != "receipt.granted" || numbers.first != 1 {
                found.append(.init(.revisions, "the grant of \(id) is not its first revision: \(numbers)"))
            }
            return found
        }
    }

    /// Checks that the grants of a player come in the order of the player's submissions. The contract promises this
    /// order while one worker has the partition and no submission waits ("Delivery").
    func order() -> [Difference] {
        let numbers = Dictionary(
            facts.submissions.enumerated().map { ($1.id, $0) }
        ) { first, _ in first }
        var last: [String: Int] = [:]
        var known: Set<String> = []
        var found: [Difference] = []
        for event in seen.events where event.type == "receipt.granted" && known.insert(event.id).inserted {
            guard let number = numbers[event.submission], !isLeftBehind(facts.submissions[number]) else { continue }
            if let before = last[event.player], before > number {
                found.append(.init(.order, "the grant of \(event.submission) came behind a later one's"))
            }
            last[event.player] = max(last[event.player] ?? -1, number)
        }
        return found
    }

    /// Checks that the grants of one decision are sorted by purchase time and id, and that the answer comes after them
    /// ("Events"). All events of a decision list the same transactions. This list tells apart several holds of one
    /// submission that end in the same millisecond, each by a decision of its own.
    func orderOfGrants() -> [Difference] {
        var known: Set<String> = []
        var found: [Difference] = []
        var last: [String: (time: String, id: String)] = [:]
        for event in seen.events where known.insert(event.id).inserted {
            guard ["receipt.granted", "receipt.rejected", "receipt.held"].contains(event.type) else { continue }
            let listed = event.entries.map(\.transaction).sorted().joined(separator: " ")
            let decision = "\(event.submission) \(event.text("occurred_at") ?? "") \(listed)"
            let isGrant = event.type == "receipt.granted"
            let key = isGrant ? (event.text("purchased_at") ?? "", event.transaction ?? "") : ("~", "")
            if let before = last[decision], before > key {
                found.append(
                    .init(
                        .order, "\(before.id) of \(event.submission) came before \(event.transaction ?? "its answer")"))
            }
            last[decision] = key
        }
        return found
    }

    /// Returns true if the worker may answer later submissions first, because it may park, hold or doubt this
    /// submission.
    private func isLeftBehind(_ submission: Submission) -> Bool {
        submission.form == .transactionID || submission.quality != .proven || submission.oddity != nil
            || !whole(submission).isEmpty
            || submission.holds.contains { id in
                facts.purchases[id].map { obstacles(submission, $0).contains(where: \.isHold) } ?? true
            }
    }
}
