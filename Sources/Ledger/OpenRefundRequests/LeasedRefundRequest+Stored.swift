import Fulfillment
import NamesAndTimes
import Postgres

/// The columns of `lease_due_refund_requests` and `update_unowned_refund_requests` that describe Apple's request.
enum RequestedColumn: String, CaseIterable {
    case notificationID, transactionID, originalTransactionID, bundleID, productID, environment, kind, periodID
    case reason, signedAt
}

/// The other columns of `lease_due_refund_requests`.
enum KnownColumn: String, CaseIterable {
    case lease, tries, grantedTransactionID, isRevoked, isRefunded, isUndelivered
    case isReported, consumptionMilliPercent, refundPreference, isConsented
}

extension OwnedRefundRequest {
    /// Reads the rows of `update_unowned_refund_requests`, whose requests now have an owner.
    static func all(_ rows: PostgresRows) throws(PostgresError) -> [OwnedRefundRequest] {
        let (requests, player) = (try rows.named(RequestedColumn.self), try rows.column("player_id"))
        return requests.enumerated().compactMap { row, requested in
            guard let owner = rows.text(row, player), let request = RefundRequest(requested) else { return nil }
            return OwnedRefundRequest(request: request, player: Identifier(owner))
        }
    }
}

extension LeasedRefundRequest {
    /// - Parameter owed: the events that the broker has not acknowledged.
    init?(_ requested: PostgresRow<RequestedColumn>, _ known: PostgresRow<KnownColumn>, owed: Set<NameBasedUUID>) {
        guard let request = RefundRequest(requested), let lease = known.timestampMicroseconds(.lease) else {
            return nil
        }
        self.init(
            request: request, delivery: Delivery(known, owed), report: .init(known), tries: known.integer(.tries) ?? 1,
            lease: lease)
    }
}

extension RefundRequest {
    fileprivate init?(_ row: PostgresRow<RequestedColumn>) {
        guard let id = row.text(.notificationID), let transaction = row.text(.transactionID),
            let original = row.text(.originalTransactionID), let bundle = row.text(.bundleID),
            let product = row.text(.productID),
            let environment = row.text(.environment).flatMap(StoreEnvironment.init(rawValue:)),
            let signedAt = row.timestamp(.signedAt)
        else { return nil }
        self.init(
            id: Identifier(id), transactionID: Identifier(transaction), originalTransactionID: Identifier(original),
            bundleID: Identifier(bundle), environment: environment, productID: Identifier(product),
            kind: row.text(.kind).flatMap(ProductKind.init(rawValue:)),
            period: row.text(.periodID).map { Identifier($0) }, reason: row.text(.reason), signedAt: signedAt)
    }
}

extension LeasedRefundRequest.Delivery {
    fileprivate init(_ row: PostgresRow<KnownColumn>, _ owed: Set<NameBasedUUID>) {
        if let granted = row.text(.grantedTransactionID) {
            let event = OutcomeEvent.eventID(.granted, transaction: Identifier(granted), revision: 1)
            self = row.bool(.isRevoked) ?? false ? .revoked : .granted(isAcknowledged: !owed.contains(event))
        } else if row.bool(.isRefunded) ?? false {
            self = .revoked
        } else {
            self = row.bool(.isUndelivered) ?? false ? .undelivered : .unknown
        }
    }
}

extension ConsumptionReport.Content {
    /// Returns nil if the game server has reported nothing.
    fileprivate init?(_ row: PostgresRow<KnownColumn>) {
        guard row.bool(.isReported) ?? false else { return nil }
        self.init(
            consumedMilliPercent: row.integer(.consumptionMilliPercent),
            refundPreference: row.text(.refundPreference).flatMap(ConsumptionPolicy.RefundPreference.init(rawValue:)),
            isConsented: row.bool(.isConsented))
    }
}
