import Fulfillment
import NamesAndTimes
import Postgres

/// The columns of `lock_grants`.
struct GrantColumns {
    let transaction, original, player, bundle, product, quantity, environment: PostgresColumn
    let purchasedAt, expiresAt, submission, revision, event, isNonConsumable: PostgresColumn
    let revokedAt, operatorRevokedAt, appleRevokedAt, appleReason, appleShare: PostgresColumn
    let lostBefore, toldRevision: PostgresColumn

    init(_ rows: PostgresRows) throws(PostgresError) {
        transaction = try rows.column("transaction_id")
        original = try rows.column("original_transaction_id")
        player = try rows.column("player_id")
        bundle = try rows.column("bundle_id")
        product = try rows.column("product_id")
        quantity = try rows.column("quantity")
        environment = try rows.column("environment")
        purchasedAt = try rows.column("purchased_at")
        expiresAt = try rows.column("expires_at")
        submission = try rows.column("submission_id")
        revision = try rows.column("revision")
        event = try rows.column("event")
        isNonConsumable = try rows.column("is_non_consumable")
        revokedAt = try rows.column("revoked_at")
        operatorRevokedAt = try rows.column("operator_revoked_at")
        appleRevokedAt = try rows.column("apple_revoked_at")
        appleReason = try rows.column("apple_revocation_reason")
        appleShare = try rows.column("apple_revoked_milli_percent")
        lostBefore = try rows.column("lost_before")
        toldRevision = try rows.column("told_revision")
    }
}

extension GrantRevocations {
    /// Reads the revocations of a grant. Another system, or a version before 6, writes Apple's refunds only to
    /// `revoked_at`.
    init(_ rows: PostgresRows, _ row: Int, _ columns: GrantColumns) {
        guard let revokedAt = rows.timestamp(row, columns.revokedAt) else {
            self.init()
            return
        }
        let operatorRevokedAt = rows.timestamp(row, columns.operatorRevokedAt)
        let appleRevokedAt = rows.timestamp(row, columns.appleRevokedAt)
        let apple = (appleRevokedAt ?? (operatorRevokedAt == nil ? revokedAt : nil)).map { time in
            Revocation(
                at: time, reason: rows.text(row, columns.appleReason).flatMap(Reason.init(rawValue:)) ?? .refund,
                milliPercent: rows.int4(row, columns.appleShare).flatMap { Int32(exactly: $0) })
        }
        self.init(apple: apple, operatorRevokedAt: operatorRevokedAt)
    }
}

extension GrantedPurchase {
    init?(_ rows: PostgresRows, _ row: Int, _ columns: GrantColumns) {
        guard let transaction = rows.text(row, columns.transaction), let player = rows.text(row, columns.player),
            let bundle = rows.text(row, columns.bundle), let product = rows.text(row, columns.product),
            let quantity = rows.int4(row, columns.quantity),
            let environment = rows.text(row, columns.environment).flatMap(StoreEnvironment.init(rawValue:)),
            let submission = rows.text(row, columns.submission), let revision = rows.int4(row, columns.revision)
        else { return nil }
        self.init(
            transactionID: Identifier(transaction),
            originalTransactionID: rows.text(row, columns.original).map { Identifier($0) },
            player: Identifier(player), bundleID: Identifier(bundle), productID: Identifier(product),
            quantity: Int32(truncatingIfNeeded: quantity), environment: environment,
            purchasedAt: rows.timestamp(row, columns.purchasedAt), expiresAt: rows.timestamp(row, columns.expiresAt),
            submissionID: Identifier(submission), revision: Int32(truncatingIfNeeded: revision),
            revocations: GrantRevocations(rows, row, columns), event: rows.bytes(row, columns.event))
    }
}
