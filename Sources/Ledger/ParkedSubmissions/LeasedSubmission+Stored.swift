import Fulfillment
import Postgres

/// The columns of the `lease_…_parked` statements.
enum ParkedColumn: String, CaseIterable {
    case id, sourceTopic, sourcePartition, sourceOffset, sourceTimestamp, content, proof, traceparent
    case submission, reason, failures, doubts, firstFailureAt, parkings, tries, isDue, leasedUntil
    case isDecidedAgain
}

extension LeasedSubmission {
    init?(_ id: NameBasedUUID, _ row: PostgresRow<ParkedColumn>) {
        guard let topic = row.text(.sourceTopic), let partition: Int32 = row.integer(.sourcePartition),
            let offset: Int64 = row.integer(.sourceOffset), let timestamp = row.timestamp(.sourceTimestamp),
            let content = row.bytes(.content), let proof = row.bytes(.proof),
            case .submission(let submission) = SubmissionDecoder().decode(row.bytes(.submission), signatureHeaders: []),
            let reason = row.text(.reason).flatMap(ParkingReason.init(rawValue:)),
            let lease = row.timestampMicroseconds(.leasedUntil)
        else { return nil }
        self.init(
            id: id, submission: submission,
            position: RecordPosition(
                topic: topic, partition: partition, offset: offset, timestamp: timestamp,
                content: Digest256(bytes: content)),
            proof: Digest256(bytes: proof), traceparent: row.text(.traceparent), reason: reason,
            history: WaitingHistory(row), isDue: row.bool(.isDue) ?? false, lease: lease,
            isDecidedAgain: row.bool(.isDecidedAgain) ?? false)
    }
}
