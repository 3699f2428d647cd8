import Encodings
import Fulfillment

/// Lists the rules that a decision passed, and the rule that ended it. The rules are checked in `Rule.order`, and the
/// first failure is the reason. So the reason shows which rules passed.
enum RuleTrace {
    private static let whole = Rule.ofSubmission
    private static let each = Rule.ofTransaction

    /// Returns the steps of the submission and of each transaction.
    /// - Parameter transactions: the transactions as the events list them.
    static func steps(reason: String?, _ transactions: [JSONValue]) -> [(step: String, detail: String)] {
        if let reason = reason.flatMap(Reason.init(rawValue:)), let place = whole.firstIndex(of: reason) {
            return [("submission", detail(passed: whole[..<place], ended: reason, as: "rejected"))]
        }
        var steps = [(step: "submission", detail: detail(passed: whole[...], ended: nil, as: "passed"))]
        for transaction in transactions {
            let id = transaction["transaction_id"]?.string ?? "?"
            let outcome = transaction["outcome"]?.string ?? "?"
            let reason = transaction["reason"]?.string
            guard let ended = reason.flatMap(Reason.init(rawValue:)), let place = each.firstIndex(of: ended) else {
                let detail = reason.map { "\($0): \(outcome)" } ?? detail(passed: each[...], ended: nil, as: outcome)
                steps.append(("transaction \(id)", detail))
                continue
            }
            // A stored refund is found before the account token is compared.
            let passed = each[..<place].filter { ended != .cancelled || $0 != .bindingMismatch }
            steps.append(("transaction \(id)", detail(passed: passed[...], ended: ended, as: outcome)))
        }
        return steps
    }

    private static func detail(passed: ArraySlice<Reason>, ended: Reason?, as outcome: String) -> String {
        let names = passed.map(\.rawValue).joined(separator: ", ")
        guard let ended else { return "\(outcome): not refused for \(names)" }
        return "\(outcome): \(ended.rawValue)" + (names.isEmpty ? "" : "; not refused for \(names)")
    }
}
