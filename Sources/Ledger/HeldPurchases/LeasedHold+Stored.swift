import Fulfillment
import NamesAndTimes
import Postgres

/// The holds that `lease_due_holds`, `lease_suspect_hold` and `list_holds_page` return.
package struct LeasedHolds: Sendable {
    /// A hold whose stored submission Swift cannot read. No retry repairs it.
    package struct Unreadable: Sendable {
        let transaction: StoreTransactionID
        let player: PlayerID
        let lease: LeasedHold.Lease
    }

    package var leased: [LeasedHold] = []
    package var unreadable: [Unreadable] = []

    package init(_ rows: PostgresRows) throws(PostgresError) {
        for row in try rows.named(LeasedHoldColumn.self) {
            guard let transaction = row.text(.transactionID).map({ StoreTransactionID($0) }) else { continue }
            if let hold = LeasedHold(transaction, row) {
                leased.append(hold)
            } else if let lease = row.timestampMicroseconds(.leasedUntil), let player = row.text(.playerID) {
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
        _ transaction: StoreTransactionID, _ row: PostgresRow<LeasedHoldColumn>
    ) {
        guard let original = row.text(.originalTransactionID), let product = row.text(.productID),
            let reason = row.text(.reason), let bytes = row.bytes(.submission),
            case .submission(let submission) = SubmissionDecoder().decode(bytes, signatureHeaders: []),
            let identity = row.uuid(.submissionKey), let topic = row.text(.sourceTopic),
            let partition: Int32 = row.integer(.sourcePartition), let offset: Int64 = row.integer(.sourceOffset),
            let timestamp = row.timestamp(.sourceTimestamp), let lease = row.timestampMicroseconds(.leasedUntil)
        else { return nil }
        let waived = (row.textArray(.waived) ?? []).compactMap { $0.flatMap(Reason.init(rawValue:)) }
        self.init(
            transactionID: transaction, originalTransactionID: Identifier(original), productID: Identifier(product),
            // A newer replica may hold a transaction for a reason that this version does not know.
            reason: Reason(rawValue: reason) ?? .unknownProduct, waived: Set(waived),
            isReleased: row.bool(.isReleased) ?? false, isDue: row.bool(.isDue) ?? false,
            submission: submission, identity: identity.nameBased,
            position: RecordPosition(
                topic: topic, partition: partition, offset: offset, timestamp: timestamp,
                content: Digest256(bytes: [])),
            traceparent: row.text(.traceparent),
            evidence: row.bytes(.evidence).flatMap(GenuineReceipt.init(stored:)),
            dailyCount: row.integer(.dailyCount),
            tries: row.integer(.tries) ?? 0, lease: lease,
            risk: (row.textArray(.risk) ?? []).compactMap { $0.flatMap(RiskSignal.init(rawValue:)) },
            heldAt: row.timestamp(.heldAt),
            announced: Self.announced(row, isDisputed: waived.contains(.ownershipDisputed)),
            isDecidedAgain: row.bool(.isDecidedAgain) ?? false)
    }

    /// Returns the terms of an announced purchase; nil if a player submitted the purchase.
    /// - Parameter isDisputed: true if an operator decided between two players.
    private static func announced(
        _ row: PostgresRow<LeasedHoldColumn>, isDisputed: Bool
    ) -> AnnouncedTerms? {
        guard let source = row.text(.source).flatMap(PurchaseSource.init(rawValue:)),
            source != .submission
        else { return nil }
        // The purchase is within the grace period if that period had not ended when Apple announced the purchase, even
        // if the hold ends later.
        let isInGrace =
            if let grace = row.timestamp(.graceExpiresAt),
                let told = row.timestamp(.sourceTimestamp)
            { grace > told } else { false }
        return AnnouncedTerms(
            source: source, isRenewal: row.bool(.isRenewal) ?? false, disputesOwner: isDisputed,
            isInGrace: isInGrace)
    }
}
