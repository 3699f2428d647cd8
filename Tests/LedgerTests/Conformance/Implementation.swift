import Fulfillment
import TestSupport

@testable import Ledger

/// The implementation of a protocol that a conformance suite runs on.
enum Implementation: String, CaseIterable, Sendable {
    case inMemory
    case postgres

    /// Runs a test on its own ledger.
    func withLedger(_ body: (any PurchaseLedger) async throws -> Void) async throws {
        switch self {
        case .inMemory: try await body(InMemoryLedger())
        case .postgres:
            let ledger = try await LedgerDatabase().ledger()
            try await body(ledger)
            await ledger.close()
        }
    }
}
