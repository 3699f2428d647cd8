import Fulfillment
import NamesAndTimes
import Postgres

/// A held transaction as an operator sees it.
public struct HoldSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let playerID: String
    public let bundleID: String
    public let productID: String
    public let quantity: Int
    public let environment: String
    public let reason: String
    /// Reasons that operators have let pass.
    public let waived: [String]
    public let submissionID: String
    public let purchasedAt: Timestamp
    public let heldAt: Timestamp
    /// Released, and not decided again yet.
    public let releasedAt: Timestamp?
    public let note: String?
    public let catalogVersion: Int64
    /// Without a verdict, since the last decision.
    public let tries: Int
}

extension HoldSummary {
    /// Of `list_holds`.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [HoldSummary] {
        let columns = try Columns(rows)
        return (0..<rows.count).compactMap { HoldSummary(rows, $0, columns) }
    }

    private struct Columns {
        let transaction, original, player, bundle, product, quantity, environment, reason: PostgresColumn
        let waived, submission, purchasedAt, heldAt, releasedAt, note, catalogVersion, tries: PostgresColumn

        init(_ rows: PostgresRows) throws(PostgresError) {
            transaction = try rows.column("transaction_id")
            original = try rows.column("original_transaction_id")
            player = try rows.column("player_id")
            bundle = try rows.column("bundle_id")
            product = try rows.column("product_id")
            quantity = try rows.column("quantity")
            environment = try rows.column("environment")
            reason = try rows.column("reason")
            waived = try rows.column("waived")
            submission = try rows.column("submission_id")
            purchasedAt = try rows.column("purchased_at")
            heldAt = try rows.column("held_at")
            releasedAt = try rows.column("released_at")
            note = try rows.column("note")
            catalogVersion = try rows.column("catalog_version")
            tries = try rows.column("tries")
        }
    }

    private init?(_ rows: PostgresRows, _ row: Int, _ columns: Columns) {
        guard let transaction = rows.text(row, columns.transaction), let original = rows.text(row, columns.original),
            let player = rows.text(row, columns.player), let bundle = rows.text(row, columns.bundle),
            let product = rows.text(row, columns.product), let environment = rows.text(row, columns.environment),
            let reason = rows.text(row, columns.reason), let submission = rows.text(row, columns.submission),
            let purchasedAt = rows.timestamp(row, columns.purchasedAt), let heldAt = rows.timestamp(row, columns.heldAt)
        else { return nil }
        self.init(
            transactionID: transaction, originalTransactionID: original, playerID: player, bundleID: bundle,
            productID: product, quantity: Int(rows.int4(row, columns.quantity) ?? 1), environment: environment,
            reason: reason, waived: (rows.textArray(row, columns.waived) ?? []).compactMap(\.self),
            submissionID: submission, purchasedAt: purchasedAt, heldAt: heldAt,
            releasedAt: rows.timestamp(row, columns.releasedAt), note: rows.text(row, columns.note),
            catalogVersion: rows.int8(row, columns.catalogVersion) ?? 0,
            tries: Int(rows.int4(row, columns.tries) ?? 0))
    }
}
