import Fulfillment
import NamesAndTimes
import Postgres

/// The request budget that all replicas share: one row for each app, endpoint and environment, by PostgreSQL's clock.
/// Every function throws a `PostgresError`.
///
/// The budget needs a pool of its own, so that a lease of requests never waits for a batch of decisions.
public struct PostgresAppleBudget: AppleBudget {
    /// How many seconds ahead replicas may lease. A new replica waits until the leases of all others are over, so the
    /// time is short.
    static let reachSeconds = 1.0
    /// The longest pause of all requests, in seconds, whatever Apple or a clock says.
    static let longestHoldSeconds = 3600.0
    /// The seconds by which a stored time may exceed the latest regular time. A stored time that is even later was
    /// written before the clock was set back.
    private static let clockToleranceSeconds = 5.0

    private static let leasing = LedgerSQL.statement(PackageResources.lease_apple_budget_sql)
    private static let holding = LedgerSQL.statement(PackageResources.upsert_apple_budget_hold_sql)
    private static let held = LedgerSQL.statement(PackageResources.list_apple_budget_holds_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    public func lease(_ requests: Int, for scope: AppleScope, perSecond: Double) async throws -> BudgetLease? {
        let lasts = Double(requests) / perSecond
        let strange = Self.reachSeconds + 2 * lasts + Self.clockToleranceSeconds
        let parameters = Self.key(scope) + [.float8(lasts), .float8(Self.reachSeconds), .float8(strange)]
        return try await pool.run { session in
            let rows = try session.execute(Self.leasing, parameters)
            guard let endsIn = rows.float8(0, try rows.column("ends_in")) else { return nil }
            return BudgetLease(requests: requests, startsIn: endsIn - lasts, lasts: lasts)
        }
    }

    public func hold(_ scope: AppleScope, seconds: Double) async throws {
        let parameters =
            Self.key(scope) + [
                .float8(min(seconds, Self.longestHoldSeconds)),
                .float8(Self.longestHoldSeconds + Self.clockToleranceSeconds),
            ]
        try await pool.run { session in _ = try session.execute(Self.holding, parameters) }
    }

    public func holds() async throws -> [AppleScope: Double] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.held, [.float8(Self.longestHoldSeconds + Self.clockToleranceSeconds)])
            let (app, endpoints) = (try rows.column("bundle_id"), try rows.column("endpoint"))
            let (environments, left) = (try rows.column("environment"), try rows.column("seconds"))
            var holds: [AppleScope: Double] = [:]
            for row in 0..<rows.count {
                guard let bundleID = rows.text(row, app), let endpoint = rows.text(row, endpoints),
                    let environment = rows.text(row, environments).flatMap(StoreEnvironment.init),
                    let seconds = rows.float8(row, left)
                else { continue }
                let scope = AppleScope(
                    bundleID: Identifier(bundleID), endpoint: endpoint, environment: environment)
                holds[scope] = min(seconds, Self.longestHoldSeconds)
            }
            return holds
        }
    }

    private static func key(_ scope: AppleScope) -> [PostgresParameter] {
        [.text(scope.bundleID.text), .text(scope.endpoint), .text(scope.environment.rawValue)]
    }
}
