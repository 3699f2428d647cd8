import Fulfillment
import NamesAndTimes
import Postgres

/// Holds as `lease_due_holds`, `lease_suspect_hold` and `list_holds_page` return them.
package struct LeasedHolds: Sendable {
    /// A hold whose submission cannot be read, which nothing repairs.
    package struct Unreadable: Sendable {
        let transaction: StoreTransactionID
        let player: PlayerID
        let lease: LeasedHold.Lease
    }

    package var leased: [LeasedHold] = []
    package var unreadable: [Unreadable] = []

    package init(_ rows: PostgresRows) throws(PostgresError) {
        let columns = try rows.columns(LeasedHoldColumn.self)
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, columns[.transactionID]).map({ StoreTransactionID($0) }) else {
                continue
            }
            if let hold = LeasedHold(transaction, rows, row, columns) {
                leased.append(hold)
            } else if let lease = rows.timestampMicroseconds(row, columns[.leasedUntil]),
                let player = rows.text(row, columns[.playerID])
            {
                unreadable.append(Unreadable(transaction: transaction, player: Identifier(player), lease: lease))
            }
        }
    }
}

private enum LeasedHoldColumn: String, CaseIterable {
    case transactionID, originalTransactionID, playerID, productID, reason, waived, isReleased, isDue, submission
    case submissionKey, sourceTopic, sourcePartition, sourceOffset, sourceTimestamp, traceparent, evidence
    case dailyCount, tries, leasedUntil, risk, heldAt, source, isRenewal, graceExpiresAt, isDecidedAgain
}

extension LeasedHold {
    fileprivate init?(
        _ transaction: StoreTransactionID, _ rows: PostgresRows, _ row: Int,
        _ columns: PostgresColumns<LeasedHoldColumn>
    ) {
        guard let original = rows.text(row, columns[.originalTransactionID]),
            let product = rows.text(row, columns[.productID]),
            let reason = rows.text(row, columns[.reason]), let bytes = rows.bytes(row, columns[.submission]),
            case .submission(let submission) = SubmissionDecoder().decode(bytes, signatureHeaders: []),
            let identity = rows.uuid(row, columns[.submissionKey]), let topic = rows.text(row, columns[.sourceTopic]),
            let partition = rows.int4(row, columns[.sourcePartition]),
            let offset = rows.int8(row, columns[.sourceOffset]),
            let timestamp = rows.timestamp(row, columns[.sourceTimestamp]),
            let lease = rows.timestampMicroseconds(row, columns[.leasedUntil])
        else { return nil }
        let waived = (rows.textArray(row, columns[.waived]) ?? []).compactMap { $0.flatMap(Reason.init(rawValue:)) }
        self.init(
            transactionID: transaction, originalTransactionID: Identifier(original), productID: Identifier(product),
            // A newer replica may hold for a reason that this one does not know.
            reason: Reason(rawValue: reason) ?? .unknownProduct, waived: Set(waived),
            isReleased: rows.bool(row, columns[.isReleased]) ?? false, isDue: rows.bool(row, columns[.isDue]) ?? false,
            submission: submission, identity: identity.nameBased,
            position: RecordPosition(
                topic: topic, partition: Int32(truncatingIfNeeded: partition), offset: offset, timestamp: timestamp,
                content: Digest256(bytes: [])),
            traceparent: rows.text(row, columns[.traceparent]),
            evidence: rows.bytes(row, columns[.evidence]).flatMap(GenuineReceipt.init(stored:)),
            dailyCount: rows.int8(row, columns[.dailyCount]).map { Int($0) },
            tries: Int(rows.int4(row, columns[.tries]) ?? 0), lease: lease,
            risk: (rows.textArray(row, columns[.risk]) ?? []).compactMap { $0.flatMap(RiskSignal.init(rawValue:)) },
            heldAt: rows.timestamp(row, columns[.heldAt]),
            announced: Self.announced(rows, row, columns, isDisputed: waived.contains(.ownershipDisputed)),
            isDecidedAgain: rows.bool(row, columns[.isDecidedAgain]) ?? false)
    }

    /// - Parameter isDisputed: an operator decided between two players.
    private static func announced(
        _ rows: PostgresRows, _ row: Int, _ columns: PostgresColumns<LeasedHoldColumn>, isDisputed: Bool
    ) -> AnnouncedTerms? {
        guard let source = rows.text(row, columns[.source]).flatMap(PurchaseSource.init(rawValue:)),
            source != .submission
        else { return nil }
        // Whenever the hold ends, what counts is whether the grace period went on when Apple told of it.
        let isInGrace =
            if let grace = rows.timestamp(row, columns[.graceExpiresAt]),
                let told = rows.timestamp(row, columns[.sourceTimestamp])
            { grace > told } else { false }
        return AnnouncedTerms(
            source: source, isRenewal: rows.bool(row, columns[.isRenewal]) ?? false, disputesOwner: isDisputed,
            isInGrace: isInGrace)
    }
}
