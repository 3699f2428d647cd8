import Fulfillment
import NamesAndTimes
import Postgres

/// Finds the apps of subscriptions that other subscriptions continue.
enum FindClaimApps {
    private static let statement = LedgerSQL.statement(PackageResources.find_claim_apps_sql)

    struct Following: Sendable, Hashable {
        /// The original transaction of the continued subscription.
        let previous: StoreTransactionID
        let app: StoreApp
    }

    /// Adds to the view which of the continued subscriptions have a grant, a hold or a row in `subscriptions` in the
    /// given app. The claims must be locked. If none of these claims has an owner, there is no round trip.
    static func run(
        _ following: Set<Following>, into view: inout LedgerView, in session: PostgresSession
    ) throws {
        let wanted = following.filter { view.claims[$0.previous]?.player != nil }
        guard !wanted.isEmpty else { return }
        let all = Array(wanted)
        let rows = try session.execute(
            statement,
            [
                .identifiers(all.lazy.map(\.previous)), .identifiers(all.lazy.map(\.app.bundleID)),
                .textArray(all.map(\.app.environment.rawValue)),
            ])
        let number = try rows.column("number")
        for row in 0..<rows.count {
            guard let place = rows.int8(row, number).map({ Int($0) - 1 }), all.indices.contains(place) else { continue }
            view.claimApps[all[place].previous, default: []].insert(all[place].app)
        }
    }
}
