import Fulfillment
import NamesAndTimes
import Postgres

/// The columns of `lease_due_refund_requests`.
struct RefundRequestColumns {
    /// Apple's question.
    enum Requested: String, CaseIterable {
        case notificationID, transactionID, originalTransactionID, bundleID, productID, environment, kind, periodID
        case reason, signedAt
    }

    enum Known: String, CaseIterable {
        case lease, tries, grantedTransactionID, isRevoked, isRefunded, isUndelivered
        case isReported, consumptionMilliPercent, refundPreference, isConsented
    }

    let requested: PostgresColumns<Requested>
    let known: PostgresColumns<Known>

    init(_ rows: PostgresRows) throws(PostgresError) {
        (requested, known) = (try rows.columns(Requested.self), try rows.columns(Known.self))
    }
}

extension OwnedRefundRequest {
    /// The rows of `update_unowned_refund_requests`: requests that have an owner now.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [OwnedRefundRequest] {
        let (columns, player) = (try rows.columns(RefundRequestColumns.Requested.self), try rows.column("player_id"))
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
            guard let request = RefundRequest(rows, row, columns.requested),
                let lease = rows.timestampMicroseconds(row, columns.known[.lease])
            else { return nil }
            return LeasedRefundRequest(
                request: request, delivery: Delivery(rows, row, columns, owed), report: .init(rows, row, columns),
                tries: rows.int4(row, columns.known[.tries]).map { Int($0) } ?? 1, lease: lease)
        }
    }
}

extension RefundRequest {
    fileprivate init?(_ rows: PostgresRows, _ row: Int, _ columns: PostgresColumns<RefundRequestColumns.Requested>) {
        guard let id = rows.text(row, columns[.notificationID]),
            let transaction = rows.text(row, columns[.transactionID]),
            let original = rows.text(row, columns[.originalTransactionID]),
            let bundle = rows.text(row, columns[.bundleID]),
            let product = rows.text(row, columns[.productID]),
            let environment = rows.text(row, columns[.environment]).flatMap(StoreEnvironment.init(rawValue:)),
            let signedAt = rows.timestamp(row, columns[.signedAt])
        else { return nil }
        self.init(
            id: Identifier(id), transactionID: Identifier(transaction), originalTransactionID: Identifier(original),
            bundleID: Identifier(bundle), environment: environment, productID: Identifier(product),
            kind: rows.text(row, columns[.kind]).flatMap(ProductKind.init(rawValue:)),
            period: rows.text(row, columns[.periodID]).map { Identifier($0) },
            reason: rows.text(row, columns[.reason]), signedAt: signedAt)
    }
}

extension LeasedRefundRequest.Delivery {
    fileprivate init(
        _ rows: PostgresRows, _ row: Int, _ columns: RefundRequestColumns, _ owed: Set<NameBasedUUID>
    ) {
        if let granted = rows.text(row, columns.known[.grantedTransactionID]) {
            let event = OutcomeEvent.eventID(.granted, transaction: Identifier(granted), revision: 1)
            let isRevoked = rows.bool(row, columns.known[.isRevoked]) ?? false
            self = isRevoked ? .revoked : .granted(isAcknowledged: !owed.contains(event))
        } else if rows.bool(row, columns.known[.isRefunded]) ?? false {
            self = .revoked
        } else {
            self = rows.bool(row, columns.known[.isUndelivered]) ?? false ? .undelivered : .unknown
        }
    }
}

extension ConsumptionReport.Content {
    /// Nil where the game has said nothing.
    fileprivate init?(_ rows: PostgresRows, _ row: Int, _ columns: RefundRequestColumns) {
        guard rows.bool(row, columns.known[.isReported]) ?? false else { return nil }
        self.init(
            consumedMilliPercent: rows.int4(row, columns.known[.consumptionMilliPercent]).flatMap {
                Int32(exactly: $0)
            },
            refundPreference: rows.text(row, columns.known[.refundPreference])
                .flatMap(ConsumptionPolicy.RefundPreference.init(rawValue:)),
            isConsented: rows.bool(row, columns.known[.isConsented]))
    }
}
