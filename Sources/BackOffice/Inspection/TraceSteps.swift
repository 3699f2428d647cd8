import Encodings
import Fulfillment
import Ledger
import NamesAndTimes

/// The steps of submissions, from the traces of their outcomes and parked rows.
struct TraceSteps {
    /// The name of the trace's column in `outcomes`. The name comes from an earlier release.
    static let column = "story"

    /// The rows of `inspect_events.sql` by their transaction.
    let events: [String: JSONValue]
    private(set) var rows: [JSONValue] = []

    init(events: [JSONValue]) {
        self.events = Dictionary(
            events.compactMap { row in row["transaction_id"]?.string.map { ($0, row) } }, uniquingKeysWith: { $1 })
    }

    /// Adds the steps of an outcome.
    /// - Parameter outcome: a row of `inspect_outcomes.sql`.
    mutating func add(outcome: JSONValue) {
        let trace = outcome[Self.column]?.string.flatMap { try? JSONParser.parse(Array($0.utf8)).value }
        add(outcome, nil, "submitted", submitted(outcome, trace))
        let operatorName = trace?["operator"]?.string
        if let trace, operatorName == nil { add(outcome, nil, "classified", classified(trace)) }
        for one in trace?["tries"]?.array ?? [] { add(outcome, of: AppleTry(stored: one)) }
        if let operatorName { add(outcome, outcome["decided_at"], "refused", "by the operator \(operatorName)") }
        let told = (outcome["granted_transaction_ids"]?.array ?? []).compactMap { $0.string.flatMap { events[$0] } }
        let listed = (outcome["transactions"]?.array ?? told.first?["transactions"]?.array) ?? []
        for (step, detail) in RuleTrace.steps(reason: outcome["reason"]?.string, listed) {
            add(outcome, outcome["decided_at"], step, detail)
        }
        for event in told { add(outcome, event, type: OutcomeEvent.Kind.granted.rawValue) }
        if let type = outcome["answer"]?.string { add(outcome, outcome, type: type) }
        // A purchase that was held at the time of the outcome may be granted by now.
        for listed in listed where listed["outcome"]?.string == TransactionOutcome.Outcome.held.rawValue {
            guard let event = listed["transaction_id"]?.string.flatMap({ events[$0] }),
                event["submission_id"] == outcome["submission_id"]
            else { continue }
            add(outcome, event, type: OutcomeEvent.Kind.granted.rawValue)
        }
    }

    /// Adds the steps of a parked submission.
    /// - Parameter parked: a row of `inspect_parked.sql`.
    mutating func add(parked: JSONValue) {
        add(parked, nil, "submitted", submitted(parked, nil))
        for one in parked["tries"]?.string.flatMap({ try? JSONParser.parse(Array($0.utf8)).value.array }) ?? [] {
            add(parked, of: AppleTry(stored: one))
        }
        let reason = [parked["reason"], parked["detail"]].compactMap { $0?.string }.joined(separator: ", ")
        let next = parked["due_at"]?.string.map { "next try \($0)" } ?? "waits for an operator"
        add(parked, parked["parked_at"], "parked", "\(reason); \(next)")
    }

    private mutating func add(_ row: JSONValue, of apple: AppleTry?) {
        guard let apple else { return }
        var detail = apple.result
        if let endpoint = apple.endpoint {
            let status = apple.status.map { "status \($0)" }
            let environment = apple.environment.map { " \($0.rawValue)" } ?? ""
            // The result `status` adds nothing to the status itself.
            let result = status != nil && apple.result == AppleAnswer.TroubleKind.status.rawValue ? nil : apple.result
            let told = [result, status, "\(apple.milliseconds) ms"].compactMap(\.self).joined(separator: ", ")
            detail = "\(endpoint)\(environment): \(told)"
        } else {
            detail += ", without a request of its own"
        }
        add(row, .string(apple.at.rfc3339), "apple", detail)
    }

    private mutating func add(_ row: JSONValue, _ event: JSONValue, type: String) {
        let id = event["event_id"]?.string ?? "?"
        var detail = "\(id), \(event["is_pending"] == .bool(true) ? "not published yet" : "published")"
        let (reason, code) = (event["reason"]?.string, event["detail_code"]?.string)
        if let reason { detail += "; \(reason)" }
        if let code, code != reason { detail += "; \(code)" }
        if let transaction = event["transaction_id"]?.string { detail += "; transaction \(transaction)" }
        let risk = (event["risk"]?.array ?? []).compactMap(\.string)
        if !risk.isEmpty { detail += "; risk \(risk.joined(separator: ", "))" }
        add(row, event["occurred_at"] ?? row["decided_at"], type, detail)
    }

    private mutating func add(_ row: JSONValue, _ time: JSONValue?, _ step: String, _ detail: String) {
        rows.append(
            .object([
                JSONMember(name: "submission_id", value: row["submission_id"] ?? .null),
                JSONMember(name: "player_id", value: row["player_id"] ?? .null),
                JSONMember(name: "at", value: time ?? .null),
                JSONMember(name: "step", value: .string(step)),
                JSONMember(name: "detail", value: .string(detail)),
            ]))
    }

    private func submitted(_ row: JSONValue, _ trace: JSONValue?) -> String {
        func text(_ value: JSONValue?) -> String {
            switch value {
            case .string(let text)?: text
            case .number(let text)?: text
            default: "?"
            }
        }
        var parts = [
            "\(trace?["proof"]?.string ?? "a proof") for \(text(row["bundle_id"]))",
            "record \(text(row["topic"]))/\(text(row["partition"])) at \(text(row["offset"]))",
        ]
        for name in ["product", "order", "device", "currency", "submitted_at"] {
            if let told = trace?[name]?.string {
                parts.append("\(name == "product" ? "claimed product" : name.replacing("_", with: " ")) \(told)")
            }
        }
        if trace?["token"] == .bool(true) { parts.append("with an account token") }
        return parts.joined(separator: ", ")
    }

    private func classified(_ trace: JSONValue) -> String {
        let signature =
            switch trace["signature"]?.string {
            case "proven": "signature proven here"
            case "forged": "signature forged"
            default: "signature not provable here"
            }
        let source =
            switch trace["source"]?.string {
            case "apple": "Apple was asked"
            case "proof": "the proof was enough: the worker did not ask Apple"
            default: "its purchases were in the ledger: the worker did not ask Apple"
            }
        let catalog = trace["catalog"].flatMap(\.whole).map { "; catalog \($0)" } ?? ""
        return "\(signature); \(source)\(catalog)"
    }
}
