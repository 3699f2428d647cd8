import AppStoreSimulation
import Foundation
import Fulfillment
import Kafka
import Postgres

/// Compares the plan with PostgreSQL's rows, the outcomes and Apple's log. The comparison uses none of the worker's
/// rules.
struct Checker: Sendable {
    struct Grant: Sendable {
        let playerID: String
        let submissionID: String
        let event: [UInt8]
    }

    let bed: Testbed
    let plan: Plan
    /// The most requests of all workers together that Apple may get at the same time.
    var appleConcurrency = Int.max
    /// The ids of submissions that were ever parked. The contract promises no order for them.
    var parkedOnce: Set<String> = []

    /// Returns a line for each problem. Must be called after `Testbed.settle`, because every record must be answered.
    func problems() async throws -> [String] {
        let content = bed.outcomes.content
        let grants = try await grants()
        var problems = content.faults
        problems += answers(content)
        problems += copies(content)
        problems += ledger(content, grants)
        problems += deadLetters(content)
        problems += OrderCheck(plan: plan, parkedOnce: parkedOnce).problems(content)
        problems += try await holds()
        let highest = bed.apple.counters.maximumConcurrentRequests
        if highest > appleConcurrency {
            problems.append("Apple was asked \(highest) times at once, not \(appleConcurrency)")
        }
        for (partition, marks) in try await bed.committedOffsets() where marks.low > 0 {
            problems.append("the broker dropped records of partition \(partition): the test's load is too large")
        }
        return problems
    }

    func grants() async throws -> [String: Grant] {
        try await bed.query("SELECT transaction_id, player_id, submission_id, event FROM grants") { rows in
            var grants: [String: Grant] = [:]
            for row in 0..<rows.count {
                guard let id = rows.text(row, 0), let player = rows.text(row, 1), let submission = rows.text(row, 2)
                else {
                    continue
                }
                grants[id] = Grant(playerID: player, submissionID: submission, event: rows.bytes(row, 3) ?? [])
            }
            return grants
        }
    }

    /// Returns whether the submission exchanged its answer with another submission of the same transaction. That may
    /// happen if the earlier of the two was parked.
    private func isOvertaken(_ id: String, _ unexpected: [String: Set<Truth.Expected>]) -> Bool {
        let rejected: Set<Truth.Expected> = [.rejected("already_granted")]
        return unexpected.contains { other, kinds in
            let (earlier, later) = unexpected[id] == rejected ? (id, other) : (other, id)
            guard parkedOnce.contains(earlier), unexpected[earlier] == rejected, let granted = unexpected[later],
                granted.count == 1, plan.truths[later]?.alternatives.contains(rejected) == true
            else { return false }
            return plan.truths[earlier]?.alternatives.contains(granted) == true
        }
    }

    /// Checks that every submission has exactly one of its expected sets of events.
    private func answers(_ content: OutcomeLog.Content) -> [String] {
        var sets: [String: [String: Truth.Expected]] = [:]
        for event in content.events {
            switch event.type {
            case "receipt.granted":
                sets[event.submissionID, default: [:]][event.id] = .granted(event.transactionID ?? "-")
            case "receipt.rejected": sets[event.submissionID, default: [:]][event.id] = .rejected(event.reason ?? "-")
            case "receipt.held": sets[event.submissionID, default: [:]][event.id] = .held(event.reason ?? "-")
            default: sets[event.submissionID, default: [:]][event.id] = .rejected("unexpected \(event.type)")
            }
        }
        var problems: [String] = []
        var unexpected: [String: Set<Truth.Expected>] = [:]
        for (id, truth) in plan.truths {
            let events = sets.removeValue(forKey: id) ?? [:]
            let kinds = Set(events.values)
            if kinds.count != events.count {
                problems.append("submission \(id): \(Array(events.values)), expected \(truth.alternatives)")
            } else if !truth.alternatives.contains(kinds) {
                unexpected[id] = kinds
            }
        }
        for (id, kinds) in unexpected where !isOvertaken(id, unexpected) {
            problems.append("submission \(id): \(Array(kinds)), expected \(plan.truths[id]?.alternatives ?? [])")
        }
        problems += sets.keys.map { "an event for the submission \($0), which nobody sent" }
        return problems
    }

    /// Checks that all copies of an event are equal, and that each transaction has at most one granted event.
    private func copies(_ content: OutcomeLog.Content) -> [String] {
        var problems: [String] = []
        var first: [String: OutcomeLog.Event] = [:]
        var eventOf: [String: String] = [:]
        for event in content.events {
            if let known = first[event.id] {
                if known.record.value != event.record.value || known.record.key != event.record.key
                    || known.record.topicPartition != event.record.topicPartition
                {
                    problems.append("copies of the event \(event.id) differ")
                }
            } else {
                first[event.id] = event
            }
            if event.record.key != Array(event.playerID.utf8) {
                problems.append("the event \(event.id) has another key")
            }
            if event.type == "receipt.granted", let transaction = event.transactionID,
                eventOf.updateValue(event.id, forKey: transaction).map({ $0 != event.id }) ?? false
            {
                problems.append("the transaction \(transaction) has two granted events")
            }
        }
        return problems
    }

    /// Checks that granted events match the rows of `grants`, and that the ledger has exactly the plan's grants.
    private func ledger(_ content: OutcomeLog.Content, _ grants: [String: Grant]) -> [String] {
        var problems: [String] = []
        var unpublished = grants
        for event in content.events where event.type == "receipt.granted" {
            let transaction = event.transactionID ?? "-"
            unpublished[transaction] = nil
            guard let grant = grants[transaction] else {
                problems.append("the transaction \(transaction) has an event and no grant")
                continue
            }
            if grant.playerID != event.playerID || grant.submissionID != event.submissionID
                || grant.event != event.record.value ?? []
            {
                problems.append("the grant of \(transaction) is another than its event")
            }
        }
        problems += unpublished.keys.map { "the grant of \($0) was never published" }
        problems += plan.certainGrants.filter { grants[$0] == nil }.map { "the genuine purchase \($0) was not granted" }
        for contest in plan.contests {
            let won = contest.filter { grants[$0] != nil }.count
            if won != 1 { problems.append("of the purchases \(contest) \(won) were granted") }
        }
        let known = plan.certainGrants.union(plan.contests.flatMap { $0 })
        problems += grants.keys.filter { !known.contains($0) }.map {
            "the transaction \($0) was granted, which it must not"
        }
        return problems
    }

    private func deadLetters(_ content: OutcomeLog.Content) -> [String] {
        var missing = plan.deadLetters
        var problems: [String] = []
        for letter in content.deadLetters {
            let key = letter.key.map { String(decoding: $0, as: UTF8.self) } ?? "-"
            let reason = letter.headers.last { $0.name == "dead-letter-reason" }?.value
            if reason.map({ String(decoding: $0, as: UTF8.self) }) != plan.deadLetters[key] {
                problems.append("the record \(key) is a dead letter, or for another reason")
            }
            missing[key] = nil
        }
        return problems + missing.keys.map { "the record \($0) is no dead letter" }
    }

    private func holds() async throws -> [String] {
        let held = try await bed.query("SELECT count(*) FROM holds") { $0.int8(0, 0) ?? -1 }
        let expected = plan.truths.values.count { truth in
            truth.alternatives.contains { $0.contains { if case .held = $0 { true } else { false } } }
        }
        return held == Int64(expected) ? [] : ["\(held) transactions are held, not \(expected)"]
    }
}
