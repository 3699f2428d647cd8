import Clocks
import Fulfillment
import Ledger

/// What an operator says of a held transaction: a record that is sent nowhere.
struct SeedDecision: Sendable {
    private enum Verdict: String, CaseIterable {
        case reject
        case release
    }

    private static let operatorName = "the seeds"

    private let verdict: Verdict
    private let transactionID: StoreTransactionID

    /// Nil where it names neither of the two.
    init?(_ told: JSONValue) {
        for verdict in Verdict.allCases {
            guard let id = told[verdict.rawValue]?.string else { continue }
            self.verdict = verdict
            transactionID = StoreTransactionID(id)
            return
        }
        return nil
    }

    /// As `receiptd holds` does.
    func apply(to holds: HoldAdministration) async throws {
        let filter = HoldFilter(transactionID: transactionID)
        switch verdict {
        case .reject:
            let now = WallClock.now
            _ = try await holds.reject(filter, by: Self.operatorName, at: now)
        case .release: _ = try await holds.release(filter, by: Self.operatorName)
        }
    }
}
