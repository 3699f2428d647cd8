import Fulfillment
import Ledger
import NamesAndTimes
import Synchronization
import TestSupport
import Testing

/// A ledger learns account tokens, and the Apple accounts that bought with them.
@Suite("Ledgers in memory and in PostgreSQL: account tokens")
struct AccountTokensConformance {
    private static let token = "6e3b2f50-0c1d-4a5e-9f70-112233445566"

    private static func decision(_ id: Int, player: String, account: AppTransactionID?) -> PendingDecision {
        var purchase = Sample.purchase("\(id)")
        purchase.appAccountToken = token
        purchase.appTransactionID = account
        return Sample.decision(
            .each([Sample.judged(purchase)]), player: player,
            offset: Int64(id * 1000 + Int(player.utf8.last ?? 0)), submission: "s-\(id)-\(player)", token: token,
            tokenUse: .holds, risk: RiskThresholds())
    }

    @Test(
        "if players share an account token, the first player of each Apple account gets grants, the others get holds",
        arguments: Implementation.allCases)
    func accounts(implementation: Implementation) async throws {
        try await implementation.withLedger { ledger in
            let (granted, signal, held) = (
                "receipt.granted", "receipt.granted shared_token", "receipt.held shared_token"
            )
            let steps: [(player: String, account: AppTransactionID?, outcome: String)] = [
                ("attacker", "70", granted), ("victim", "71", signal), ("victim", "71", signal),
                ("attacker", "71", held),
                ("third", "71", held), ("victim", "70", held), ("victim", nil, held), ("attacker", nil, granted),
            ]
            for (number, step) in steps.enumerated() {
                let decision = Self.decision(number + 1, player: step.player, account: step.account)
                let event = try await ledger.record(decision).events.last
                let words = [event?.kind.rawValue ?? "nothing"] + (event?.risk.map(\.rawValue) ?? [])
                #expect(words.joined(separator: " ") == step.outcome, "step \(number + 1)")
            }
        }
    }

    @Test("if two players use one token and a new Apple account at once, one gets the grant; the dispute is reported")
    func race() async throws {
        let database = try await LedgerDatabase()
        let disputes = Mutex<[DisputedToken]>([])
        let observer = LedgerObserver(disputedToken: { one in disputes.withLock { $0.append(one) } })
        let ledgers = [database.ledger(observer: observer), database.ledger(observer: observer)]
        _ = try await ledgers[0].record(Self.decision(1, player: "first", account: "70"))
        for round in 1...10 {
            let outcomes = try await withThrowingTaskGroup(of: RecordedOutcome.self) { group in
                for (place, ledger) in ledgers.enumerated() {
                    let decision = Self.decision(
                        10 * round + place, player: place == 0 ? "a" : "b", account: AppTransactionID("8\(round)"))
                    group.addTask { try await ledger.record(decision) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            guard round < AccountTokenFacts.maximumAccounts else { break }
            #expect(outcomes.flatMap(\.granted).count == 1, "round \(round)")
        }
        #expect(disputes.withLock { $0.map(\.firstPlayer) }.allSatisfy { $0 == "a" || $0 == "b" })
        #expect(disputes.withLock(\.count) == AccountTokenFacts.maximumAccounts - 1)
        for ledger in ledgers { await ledger.close() }
    }
}
