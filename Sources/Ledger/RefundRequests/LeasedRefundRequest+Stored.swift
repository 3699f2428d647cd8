import Fulfillment
import NamesAndTimes
import Postgres

/// Of `lease_due_refund_requests`.
struct RefundRequestColumns {
    let request: Requested
    let lease, tries, granted, isRevoked, isRefunded, isUndelivered: PostgresColumn
    let isReported, consumed, preference, isConsented: PostgresColumn

    init(_ rows: PostgresRows) throws(PostgresError) {
        request = try Requested(rows)
        lease = try rows.column("lease")
        tries = try rows.column("tries")
        granted = try rows.column("granted_transaction_id")
        isRevoked = try rows.column("is_revoked")
        isRefunded = try rows.column("is_refunded")
        isUndelivered = try rows.column("is_undelivered")
        isReported = try rows.column("is_reported")
        consumed = try rows.column("consumption_milli_percent")
        preference = try rows.column("refund_preference")
        isConsented = try rows.column("is_consented")
    }

    /// What Apple asks.
    struct Requested {
        let notification, transaction, original, bundle, product, environment, kind, period, reason,
            signedAt: PostgresColumn

        init(_ rows: PostgresRows) throws(PostgresError) {
            notification = try rows.column("notification_id")
            transaction = try rows.column("transaction_id")
            original = try rows.column("original_transaction_id")
            bundle = try rows.column("bundle_id")
            product = try rows.column("product_id")
            environment = try rows.column("environment")
            kind = try rows.column("kind")
            period = try rows.column("period_id")
            reason = try rows.column("reason")
            signedAt = try rows.column("signed_at")
        }
    }
}

extension OwnedRefundRequest {
    /// Of `update_unowned_refund_requests`: those that have an owner now.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [OwnedRefundRequest] {
        let (columns, player) = (try RefundRequestColumns.Requested(rows), try rows.column("player_id"))
        return (0..<rows.count).compactMap { row in
            guard let owner = rows.text(row, player), let request = RefundRequest(rows, row, columns) else {
                return nil
            }
            return OwnedRefundRequest(request: request, player: Identifier(owner))
        }
    }
}
extension LeasedRefundRequest {
    /// - Parameter owed: events that are not acknowledged.
    static func all(
        _ rows: PostgresRows, _ columns: RefundRequestColumns, owed: Set<NameBasedUUID>
    ) -> [LeasedRefundRequest] {
        (0..<rows.count).compactMap { row in
            guard let request = RefundRequest(rows, row, columns.request),
                let lease = rows.timestampMicroseconds(row, columns.lease)
            else { return nil }
            return LeasedRefundRequest(
                request: request, delivery: Delivery(rows, row, columns, owed), report: .init(rows, row, columns),
                tries: rows.int4(row, columns.tries).map { Int($0) } ?? 1, lease: lease)
        }
    }
}

extension RefundRequest {
    fileprivate init?(_ rows: PostgresRows, _ row: Int, _ columns: RefundRequestColumns.Requested) {
        guard let id = rows.text(row, columns.notification), let transaction = rows.text(row, columns.transaction),
            let original = rows.text(row, columns.original), let bundle = rows.text(row, columns.bundle),
            let product = rows.text(row, columns.product),
            let environment = rows.text(row, columns.environment).flatMap(StoreEnvironment.init(rawValue:)),
            let signedAt = rows.timestamp(row, columns.signedAt)
        else { return nil }
        self.init(
            id: Identifier(id), transactionID: Identifier(transaction), originalTransactionID: Identifier(original),
            bundleID: Identifier(bundle), environment: environment, productID: Identifier(product),
            kind: rows.text(row, columns.kind).flatMap(ProductKind.init(rawValue:)),
            period: rows.text(row, columns.period).map { Identifier($0) },
            reason: rows.text(row, columns.reason), signedAt: signedAt)
    }
}

extension LeasedRefundRequest.Delivery {
    fileprivate init(
        _ rows: PostgresRows, _ row: Int, _ columns: RefundRequestColumns, _ owed: Set<NameBasedUUID>
    ) {
        if let granted = rows.text(row, columns.granted) {
            let event = OutcomeEvent.eventID(.granted, transaction: Identifier(granted), revision: 1)
            let isRevoked = rows.bool(row, columns.isRevoked) ?? false
            self = isRevoked ? .revoked : .granted(isAcknowledged: !owed.contains(event))
        } else if rows.bool(row, columns.isRefunded) ?? false {
            self = .revoked
        } else {
            self = rows.bool(row, columns.isUndelivered) ?? false ? .undelivered : .unknown
        }
    }
}

extension ConsumptionReport.Content {
    /// Nil where the game has said nothing.
    fileprivate init?(_ rows: PostgresRows, _ row: Int, _ columns: RefundRequestColumns) {
        guard rows.bool(row, columns.isReported) ?? false else { return nil }
        self.init(
            consumedMilliPercent: rows.int4(row, columns.consumed).flatMap { Int32(exactly: $0) },
            refundPreference: rows.text(row, columns.preference)
                .flatMap(ConsumptionPolicy.RefundPreference.init(rawValue:)),
            isConsented: rows.bool(row, columns.isConsented))
    }
}
