import Postgres

/// Of which apps and for which reasons or states there are rows, for the filters of a list.
public struct ListedKinds: Sendable {
    public enum Table: Sendable {
        case holds, parked, subscriptions

        fileprivate var statement: PostgresStatement {
            switch self {
            case .holds: ListedKinds.holds
            case .parked: ListedKinds.parked
            case .subscriptions: ListedKinds.subscriptions
            }
        }
    }

    private static let holds = PostgresStatement("SELECT bundle_id, reason FROM kinds_of_holds(NULL, NULL)")
    private static let parked = PostgresStatement("SELECT bundle_id, reason FROM kinds_of_parked(NULL, NULL)")
    private static let subscriptions = PostgresStatement(
        "SELECT bundle_id, state AS reason FROM kinds_of_subscriptions(NULL, NULL)")

    /// Sorted, each once.
    public let bundleIDs: [String]
    public let reasons: [String]

    public init(bundleIDs: [String], reasons: [String]) {
        (self.bundleIDs, self.reasons) = (bundleIDs, reasons)
    }

    /// Some look-ups into an index, however many rows there are. Throws a `PostgresError`.
    public static func of(_ table: Table, in pool: PostgresPool) async throws -> ListedKinds {
        try await pool.run { session in
            let rows = try session.execute(table.statement)
            let (bundle, reason) = (try rows.column("bundle_id"), try rows.column("reason"))
            let all = (0..<rows.count).map { (rows.text($0, bundle), rows.text($0, reason)) }
            return ListedKinds(
                bundleIDs: Set(all.compactMap(\.0)).sorted(), reasons: Set(all.compactMap(\.1)).sorted())
        }
    }
}
