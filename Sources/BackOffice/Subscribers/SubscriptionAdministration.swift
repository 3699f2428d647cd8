import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Selects subscriptions by an operator's options. A member that is nil excludes no subscription.
public struct SubscriptionFilter: Sendable, Equatable {
    public var bundleID: String?
    public var state: SubscriptionState?

    public init(bundleID: String? = nil, state: SubscriptionState? = nil) {
        self.bundleID = bundleID
        self.state = state
    }

    var parameters: [PostgresParameter] { [.text(bundleID), .text(state?.rawValue)] }
}

/// Counts, lists and transfers subscriptions for an operator. Every function throws a `PostgresError`.
public struct SubscriptionAdministration: Sendable {
    public enum Transfer: Sendable, Equatable {
        case done(from: PlayerID)
        /// Nothing changed: the subscription already belongs to the player.
        case unchanged
        case unknown
        /// Nothing changed: this number of the subscription's transactions are held.
        case held(Int)
    }

    private static let counting = LedgerSQL.statement(PackageResources.count_listed_subscriptions_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_subscriptions_sql)
    private static let countingHolds = LedgerSQL.statement(PackageResources.count_holds_of_original_sql)
    private static let findingReceipt = LedgerSQL.statement(PackageResources.find_receipt_of_app_sql)
    private static let transferring = LedgerSQL.statement(PackageResources.transfer_subscription_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    public func count(_ filter: SubscriptionFilter) async throws -> Int {
        try await pool.count("count", of: Self.counting, filter.parameters)
    }

    /// Returns subscriptions. The subscription that changed last comes first.
    /// - Parameter skipping: the number of newer rows to leave out.
    public func list(_ filter: SubscriptionFilter, limit: Int, skipping: Int = 0) async throws -> [SubscriptionSummary]
    {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing, [.int8(Int64(limit)), .int8(Int64(skipping))] + filter.parameters)
            return try SubscriptionSummary.all(rows)
        }
    }

    /// Returns the stored receipt of one of an app's subscriptions, decoded from base64; nil if none is stored.
    public func anyReceipt(of app: BundleID) async throws -> [UInt8]? {
        try await pool.run { session in
            let rows = try session.execute(Self.findingReceipt, [.text(app.text)])
            return rows.bytes(0, try rows.column("receipt"))
        }
    }

    /// Gives the future periods of a subscription to another player, and stores the operator's name. Granted periods
    /// stay with their player. While one of the periods is held, nothing changes, because the player who paid for that
    /// period must get it first.
    public func transfer(
        _ original: StoreTransactionID, to player: PlayerID, by operatorName: String, note: String?
    ) async throws -> Transfer {
        try await pool.run { session in
            try session.transaction { session in
                guard let owner = try LockClaims.run([original], in: session)[original]?.player else {
                    return .unknown
                }
                if owner == player { return .unchanged }
                let held = try session.count("held", of: Self.countingHolds, [.text(original.text)])
                guard held == 0 else { return .held(held) }
                let rows = try session.execute(
                    Self.transferring,
                    [
                        .text(original.text), .text(player.text), .text(owner.text), .text(operatorName), .text(note),
                    ])
                return rows.count == 1 ? .done(from: owner) : .unknown
            }
        }
    }
}
