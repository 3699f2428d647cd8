import Fulfillment
import Postgres

/// The columns of the `lease_…_parked` statements.
enum ParkedColumn: String, CaseIterable {
    case id, sourceTopic, sourcePartition, sourceOffset, sourceTimestamp, content, proof, traceparent
    case submission, reason, failures, doubts, firstFailureAt, parkings, tries, isDue, leasedUntil
    case isDecidedAgain
}

extension LeasedSubmission {
    init?(_ id: NameBasedUUID, _ rows: PostgresRows, _ row: Int, _ columns: PostgresColumns<ParkedColumn>) {
        guard let topic = rows.text(row, columns[.sourceTopic]),
            let partition = rows.int4(row, columns[.sourcePartition]),
            let offset = rows.int8(row, columns[.sourceOffset]),
            let timestamp = rows.timestamp(row, columns[.sourceTimestamp]),
            let content = rows.bytes(row, columns[.content]), let proof = rows.bytes(row, columns[.proof]),
            case .submission(let submission) = SubmissionDecoder().decode(
                rows.bytes(row, columns[.submission]), signatureHeaders: []),
            let reason = rows.text(row, columns[.reason]).flatMap(ParkingReason.init(rawValue:)),
            let lease = rows.timestampMicroseconds(row, columns[.leasedUntil])
        else { return nil }
        self.init(
            id: id, submission: submission,
            position: RecordPosition(
                topic: topic, partition: Int32(truncatingIfNeeded: partition), offset: offset, timestamp: timestamp,
                content: Digest256(bytes: content)),
            proof: Digest256(bytes: proof), traceparent: rows.text(row, columns[.traceparent]), reason: reason,
            history: WaitingHistory(rows, row, columns), isDue: rows.bool(row, columns[.isDue]) ?? false, lease: lease,
            isDecidedAgain: rows.bool(row, columns[.isDecidedAgain]) ?? false)
    }
}
