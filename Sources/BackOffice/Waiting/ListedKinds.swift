import Ledger
import Postgres

/// The apps, reasons and states that a list's rows have. The console offers them as filters.
public struct ListedKinds: Sendable {
    public enum Table: Sendable {
        case holds, parked, unclaimed, refunds, subscriptions

        fileprivate var statement: PostgresStatement {
            switch self {
            case .holds: ListedKinds.holds
            case .parked: ListedKinds.parked
            case .unclaimed: ListedKinds.unclaimed
            case .refunds: ListedKinds.refunds
            case .subscriptions: ListedKinds.subscriptions
            }
        }

        fileprivate var parameters: [PostgresParameter] { self == .refunds ? [.int8(ListedKinds.newestRefunds)] : [] }
    }

    /// The most refunds that are read, newest first. Refunds are never deleted, so there may be too many to read all.
    private static let newestRefunds: Int64 = 20_000

    private static let unclaimed = LedgerSQL.statement(PackageResources.list_unclaimed_kinds_sql)
    private static let refunds = LedgerSQL.statement(PackageResources.list_refund_kinds_sql)
    private static let holds = PostgresStatement("SELECT bundle_id, reason FROM kinds_of_holds(NULL, NULL)")
    private static let parked = PostgresStatement("SELECT bundle_id, reason FROM kinds_of_parked(NULL, NULL)")
    private static let subscriptions = PostgresStatement(
        "SELECT bundle_id, state AS reason FROM kinds_of_subscriptions(NULL, NULL)")

    /// The apps that have rows, sorted.
    public let bundleIDs: [String]
    public let reasons: [String]

    public init(bundleIDs: [String], reasons: [String]) {
        (self.bundleIDs, self.reasons) = (bundleIDs, reasons)
    }

    /// Reads the apps and reasons. A few index look-ups find them, however many rows there are. But for unclaimed
    /// purchases this function reads every row, and for refunds the newest rows. Throws a `PostgresError`.
    public static func of(_ table: Table, in pool: PostgresPool) async throws -> ListedKinds {
        try await pool.run { session in
            let rows = try session.execute(table.statement, table.parameters)
            let (bundle, reason) = (try rows.column("bundle_id"), try rows.column("reason"))
            let all = (0..<rows.count).map { (rows.text($0, bundle), rows.text($0, reason)) }
            return ListedKinds(
                bundleIDs: Set(all.compactMap(\.0)).sorted(), reasons: Set(all.compactMap(\.1)).sorted())
        }
    }
}
