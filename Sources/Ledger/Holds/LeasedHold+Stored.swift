import Fulfillment
import Postgres

/// Holds as one of the `…_holds` statements returns them.
struct LeasedHolds: Sendable {
    var leased: [LeasedHold] = []
    /// Their submission cannot be read, which nothing mends.
    var unreadable: [StoreTransactionID] = []

    init(_ rows: PostgresRows) {
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, 0).map({ StoreTransactionID($0) }) else { continue }
            if let hold = LeasedHold(transaction, rows, row) {
                leased.append(hold)
            } else {
                unreadable.append(transaction)
            }
        }
    }
}

extension LeasedHold {
    fileprivate init?(_ transaction: StoreTransactionID, _ rows: PostgresRows, _ row: Int) {
        guard let original = rows.text(row, 1), let product = rows.text(row, 2), let reason = rows.text(row, 3),
            let bytes = rows.bytes(row, 6),
            case .submission(let submission) = SubmissionDecoder().decode(bytes, signatureHeaders: []),
            let identity = rows.uuid(row, 7), let topic = rows.text(row, 8), let partition = rows.int4(row, 9),
            let offset = rows.int8(row, 10), let timestamp = rows.timestamp(row, 11),
            let lease = rows.timestampMicroseconds(row, 15)
        else { return nil }
        let waived = (rows.textArray(row, 4) ?? []).compactMap { $0.flatMap(Reason.init(rawValue:)) }
        self.init(
            transactionID: transaction, originalTransactionID: Identifier(original), productID: Identifier(product),
            // A newer replica may hold for a reason that this one does not know.
            reason: Reason(rawValue: reason) ?? .unknownProduct, waived: Set(waived),
            isReleased: rows.bool(row, 5) ?? false, isDue: rows.bool(row, 17) ?? false, submission: submission,
            identity: identity.nameBased,
            position: RecordPosition(
                topic: topic, partition: Int32(truncatingIfNeeded: partition), offset: offset, timestamp: timestamp,
                content: Digest256(bytes: [])),
            traceparent: rows.text(row, 12), evidence: rows.bytes(row, 13).flatMap(GenuineReceipt.init(stored:)),
            dailyCount: rows.int8(row, 16).map { Int($0) }, tries: Int(rows.int4(row, 14) ?? 0), lease: lease,
            risk: (rows.textArray(row, 18) ?? []).compactMap { $0.flatMap(RiskSignal.init(rawValue:)) })
    }
}
