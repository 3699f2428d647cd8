import Fulfillment
import NamesAndTimes
import Postgres

/// Finds the earlier grants of submissions that are now rejected as a whole. Searches all grants of the submissions'
/// players. An index by submission would make every grant slower, and few submissions need this search.
enum FindWonGrants {
    private static let statement = LedgerSQL.statement(PackageResources.find_won_grants_sql)

    /// Returns nil, without a round trip, if no submission is rejected as a whole.
    static func run(
        _ refused: [PendingDecision], in session: PostgresSession
    ) throws -> [NameBasedUUID: [LedgerView.WonTransaction]]? {
        guard !refused.isEmpty else { return nil }
        // Each submission must be in the query once. Otherwise its grants would be listed twice.
        let players = Dictionary(refused.map { ($0.identity, $0.submission.playerID) }, uniquingKeysWith: { $1 })
        let wanted = Array(players)
        let rows = try session.execute(
            statement, [.identifiers(wanted.lazy.map(\.value)), .uuids(wanted.lazy.map(\.key))])
        let (submission, transaction) = (try rows.column("submission_key"), try rows.column("transaction_id"))
        let (product, event) = (try rows.column("product_id"), try rows.column("event"))
        let period = try rows.column("period_id")
        var won: [NameBasedUUID: [LedgerView.WonTransaction]] = [:]
        for row in 0..<rows.count {
            guard let identity = rows.uuid(row, submission)?.nameBased, let id = rows.text(row, transaction),
                let product = rows.text(row, product),
                let granted = rows.event(row, event, ofPeriod: period)
            else { continue }
            won[identity, default: []].append(
                LedgerView.WonTransaction(
                    transactionID: Identifier(id), productID: Identifier(product), event: granted))
        }
        return won
    }
}
