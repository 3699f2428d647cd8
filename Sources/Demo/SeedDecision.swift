import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import Postgres

/// An operator's decision about a held or granted transaction. The replay makes it in the database.
struct SeedDecision: Sendable {
    private enum Verdict: String, CaseIterable {
        case reject
        case release
        case revoke
        case reinstate
    }

    private static let operatorName = "the seeds"

    private let verdict: Verdict
    private let transactionID: StoreTransactionID

    /// Returns nil if the JSON names no decision.
    init?(_ told: JSONValue) {
        for verdict in Verdict.allCases {
            guard let id = told[verdict.rawValue]?.string else { continue }
            self.verdict = verdict
            transactionID = StoreTransactionID(id)
            return
        }
        return nil
    }

    /// Makes the decision as `receiptd holds` and `receiptd grants` do.
    func apply(in pool: PostgresPool) async throws {
        let holds = HoldAdministration(pool: pool)
        let filter = HoldFilter(id: transactionID.text)
        switch verdict {
        case .reject:
            let now = WallClock.now
            _ = try await holds.reject(filter, by: Self.operatorName, at: now)
        case .release: _ = try await holds.release(filter, by: Self.operatorName)
        case .revoke, .reinstate:
            let word: GrantDecision.Word = verdict == .revoke ? .revoke : .reinstate
            let decision = GrantDecision(word, transactionID, by: Self.operatorName, at: WallClock.now)
            // Without a catalog, the event repeats the payload of the grant.
            _ = try await GrantAdministration(pool: pool).apply(decision, catalog: Catalog(version: 0, apps: []))
        }
    }
}
