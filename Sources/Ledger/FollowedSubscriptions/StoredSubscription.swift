import Fulfillment
import NamesAndTimes
import Postgres

/// The columns that every statement about subscriptions returns.
package struct SubscriptionColumns {
    package let original, player, bundle, product, group, state, expiresAt, graceExpiresAt: PostgresColumn
    package let willRenew, renewalProduct, environment, revision, dueAt: PostgresColumn

    package init(_ rows: PostgresRows) throws(PostgresError) {
        original = try rows.column("original_transaction_id")
        player = try rows.column("player_id")
        bundle = try rows.column("bundle_id")
        product = try rows.column("product_id")
        group = try rows.column("subscription_group_id")
        state = try rows.column("state")
        expiresAt = try rows.column("expires_at")
        graceExpiresAt = try rows.column("grace_expires_at")
        willRenew = try rows.column("will_renew")
        renewalProduct = try rows.column("renewal_product_id")
        environment = try rows.column("environment")
        revision = try rows.column("revision")
        dueAt = try rows.column("due_at")
    }
}

/// The columns of `find_subscriptions`, and of the statements that lease subscriptions.
struct FollowedColumns {
    let shown: SubscriptionColumns
    let periodBeganAt, stateToldAt, willRenewToldAt, renewalProductToldAt, tries, historySince: PostgresColumn
    let periodsSince: PostgresColumn

    init(_ rows: PostgresRows) throws(PostgresError) {
        shown = try SubscriptionColumns(rows)
        periodBeganAt = try rows.column("period_began_at")
        stateToldAt = try rows.column("state_told_at")
        willRenewToldAt = try rows.column("will_renew_told_at")
        renewalProductToldAt = try rows.column("renewal_product_told_at")
        tries = try rows.column("tries")
        historySince = try rows.column("history_since")
        periodsSince = try rows.column("periods_since")
    }
}

extension Subscription {
    init?(_ rows: PostgresRows, _ row: Int, _ columns: FollowedColumns) {
        let shown = columns.shown
        guard let original = rows.text(row, shown.original), let player = rows.text(row, shown.player),
            let bundle = rows.text(row, shown.bundle), let product = rows.text(row, shown.product),
            let state = rows.text(row, shown.state).flatMap(SubscriptionState.init(rawValue:)),
            let environment = rows.text(row, shown.environment).flatMap(StoreEnvironment.init(rawValue:)),
            let revision = rows.int4(row, shown.revision).flatMap({ Int32(exactly: $0) }),
            let beganAt = rows.timestamp(row, columns.periodBeganAt)
        else { return nil }
        var fact = SubscriptionFact(
            originalTransactionID: Identifier(original), bundleID: Identifier(bundle), environment: environment,
            productID: Identifier(product), state: state, toldAt: beganAt)
        fact.subscriptionGroupID = rows.text(row, shown.group)
        fact.expiresAt = rows.timestamp(row, shown.expiresAt)
        fact.graceExpiresAt = rows.timestamp(row, shown.graceExpiresAt)
        fact.willRenew = rows.bool(row, shown.willRenew)
        fact.renewalProductID = rows.text(row, shown.renewalProduct).map { Identifier($0) }
        self.init(
            stored: fact, player: Identifier(player), revision: revision,
            told: Told(
                periodBeganAt: beganAt, stateAt: rows.timestamp(row, columns.stateToldAt),
                willRenewAt: rows.timestamp(row, columns.willRenewToldAt),
                renewalProductAt: rows.timestamp(row, columns.renewalProductToldAt)),
            check: Check(
                dueAt: rows.timestamp(row, shown.dueAt),
                tries: rows.int4(row, columns.tries).flatMap { Int32(exactly: $0) } ?? 0,
                historySince: rows.timestamp(row, columns.historySince),
                periodsSince: rows.timestamp(row, columns.periodsSince)))
    }
}
