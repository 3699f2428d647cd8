import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The data of a subscription for an operator.
public struct SubscriptionSummary: Sendable, Equatable {
    public let originalTransactionID: String
    public let playerID: String
    public let bundleID: String
    public let productID: String
    public let subscriptionGroupID: String?
    public let state: String
    public let expiresAt: Timestamp?
    public let graceExpiresAt: Timestamp?
    public let willRenew: Bool?
    public let renewalProductID: String?
    public let environment: String
    public let revision: Int
    public let checkedAt: Timestamp?
    public let updatedAt: Timestamp
    /// The time of the next check at Apple; nil if receiptd checks only after Apple reports a change.
    public let dueAt: Timestamp?
}

extension SubscriptionSummary {
    /// Reads the rows of `list_subscriptions`.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [SubscriptionSummary] {
        let columns = try SubscriptionColumns(rows)
        let (checkedAt, updatedAt) = (try rows.column("checked_at"), try rows.column("updated_at"))
        return (0..<rows.count).compactMap { row in
            guard let original = rows.text(row, columns.original), let player = rows.text(row, columns.player),
                let bundle = rows.text(row, columns.bundle), let product = rows.text(row, columns.product),
                let state = rows.text(row, columns.state), let environment = rows.text(row, columns.environment),
                let updatedAt = rows.timestamp(row, updatedAt)
            else { return nil }
            return SubscriptionSummary(
                originalTransactionID: original, playerID: player, bundleID: bundle, productID: product,
                subscriptionGroupID: rows.text(row, columns.group), state: state,
                expiresAt: rows.timestamp(row, columns.expiresAt),
                graceExpiresAt: rows.timestamp(row, columns.graceExpiresAt),
                willRenew: rows.bool(row, columns.willRenew), renewalProductID: rows.text(row, columns.renewalProduct),
                environment: environment, revision: Int(rows.int4(row, columns.revision) ?? 1),
                checkedAt: rows.timestamp(row, checkedAt), updatedAt: updatedAt,
                dueAt: rows.timestamp(row, columns.dueAt))
        }
    }
}
