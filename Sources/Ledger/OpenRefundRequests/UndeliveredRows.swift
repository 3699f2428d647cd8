import Fulfillment
import NamesAndTimes
import Postgres

/// Writes purchases that did not reach their player. If the ledger has no other row of a purchase, receiptd reports the
/// purchase to Apple as not delivered.
struct UndeliveredRows: Sendable {
    struct Row: Sendable {
        let purchase: UndeliveredPurchase
        let player: PlayerID
        let bundleID: BundleID
    }

    private static let locking = LedgerSQL.statement(PackageResources.lock_undelivered_sql)
    private static let inserting = LedgerSQL.statement(PackageResources.insert_undelivered_sql)
    private static let deleting = LedgerSQL.statement(PackageResources.delete_undelivered_sql)

    let rows: [Row]
    /// The purchases of submissions that were parked until now, with their players.
    private let waited: [(transaction: StoreTransactionID, player: PlayerID)]

    /// Collects a batch's rejected purchases.
    /// - Parameter settlements: one for each decision, in the same order.
    init(_ decisions: [PendingDecision], _ settlements: [Settlement]) {
        var rows: [Row] = []
        var waited: [(StoreTransactionID, PlayerID)] = []
        for (decision, settlement) in zip(decisions, settlements) {
            let (player, bundle) = (decision.submission.playerID, decision.submission.bundleID)
            for purchase in decision.undelivered(after: settlement) {
                rows.append(Row(purchase: purchase, player: player, bundleID: bundle))
            }
            guard decision.parkedID != nil else { continue }
            waited += decision.verdict.purchases.map { ($0.transactionID, player) }
        }
        self.rows = rows
        self.waited = waited
    }

    init(_ parked: [ParkingSubmission]) {
        rows = parked.flatMap { one in
            one.undelivered.map { purchase in
                Row(purchase: purchase, player: one.submission.playerID, bundleID: one.submission.bundleID)
            }
        }
        waited = []
    }

    init(_ row: Row) {
        rows = [row]
        waited = []
    }

    var isEmpty: Bool { rows.isEmpty && waited.isEmpty }

    func write(in session: PostgresSession) throws {
        let touched = Set(rows.map(\.purchase.transactionID)).union(waited.map(\.transaction))
        try session.execute(Self.locking, [.identifiers(touched.sorted())])
        if !waited.isEmpty {
            let sorted = waited.sorted { $0.transaction < $1.transaction }
            try session.execute(
                Self.deleting, [.identifiers(sorted.lazy.map(\.transaction)), .identifiers(sorted.lazy.map(\.player))])
        }
        guard !rows.isEmpty else { return }
        // One statement cannot write a row twice. The first row of a transaction counts.
        let sorted = Dictionary(rows.map { ($0.purchase.transactionID, $0) }) { first, _ in first }
            .values.sorted { $0.purchase.transactionID < $1.purchase.transactionID }
        try session.execute(
            Self.inserting,
            [
                .identifiers(sorted.lazy.map(\.purchase.transactionID)),
                .identifiers(sorted.lazy.map(\.purchase.originalTransactionID)),
                .identifiers(sorted.lazy.map(\.player)), .identifiers(sorted.lazy.map(\.bundleID)),
                .identifiers(sorted.lazy.map(\.purchase.productID)),
                .textArray(sorted.map(\.purchase.environment.rawValue)),
                .textArray(sorted.map { $0.purchase.kind?.rawValue }), .timestamps(sorted.map(\.purchase.expiresAt)),
                .textArray(sorted.map(\.purchase.reason)),
                .byteaArray(sorted.map { $0.purchase.doubtedToken?.hash.bytes }),
            ])
    }
}
