import Fulfillment

/// Which rules a decision passed and at which one it ended. They are checked in the contract's order and the first that
/// fails is the answer: the reason tells all of them.
enum RuleSteps {
    private static let whole = rules(from: .unknownApp, through: .refusedByApple)
    private static let each = rules(from: .ownershipDisputed, through: .dailyLimit)

    /// - Parameter transactions: as events list them.
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
            // A refund of a grant is found in the ledger, before the tokens are compared.
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

    private static func rules(from first: Reason, through last: Reason) -> [Reason] {
        guard let start = Reason.allCases.firstIndex(of: first), let end = Reason.allCases.firstIndex(of: last) else {
            return []
        }
        return Array(Reason.allCases[start...end])
    }
}
