import Fulfillment
import Postgres

/// Of the `lease_…_parked` statements.
struct LeasedColumns {
    let id, topic, partition, offset, timestamp, content, proof, traceparent, submission: PostgresColumn
    let reason, failures, doubts, firstFailureAt, parkings, tries, isDue, lease, isDecidedAgain: PostgresColumn

    init(_ rows: PostgresRows) throws(PostgresError) {
        id = try rows.column("id")
        topic = try rows.column("source_topic")
        partition = try rows.column("source_partition")
        offset = try rows.column("source_offset")
        timestamp = try rows.column("source_timestamp")
        content = try rows.column("content")
        proof = try rows.column("proof")
        traceparent = try rows.column("traceparent")
        submission = try rows.column("submission")
        reason = try rows.column("reason")
        failures = try rows.column("failures")
        doubts = try rows.column("doubts")
        firstFailureAt = try rows.column("first_failure_at")
        parkings = try rows.column("parkings")
        tries = try rows.column("tries")
        isDue = try rows.column("is_due")
        lease = try rows.column("leased_until")
        isDecidedAgain = try rows.column("is_decided_again")
    }
}

extension LeasedSubmission {
    init?(_ id: NameBasedUUID, _ rows: PostgresRows, _ row: Int, _ columns: LeasedColumns) {
        guard let topic = rows.text(row, columns.topic), let partition = rows.int4(row, columns.partition),
            let offset = rows.int8(row, columns.offset), let timestamp = rows.timestamp(row, columns.timestamp),
            let content = rows.bytes(row, columns.content), let proof = rows.bytes(row, columns.proof),
            case .submission(let submission) = SubmissionDecoder().decode(
                rows.bytes(row, columns.submission), signatureHeaders: []),
            let reason = rows.text(row, columns.reason).flatMap(ParkingReason.init(rawValue:)),
            let lease = rows.timestampMicroseconds(row, columns.lease)
        else { return nil }
        self.init(
            id: id, submission: submission,
            position: RecordPosition(
                topic: topic, partition: Int32(truncatingIfNeeded: partition), offset: offset, timestamp: timestamp,
                content: Digest256(bytes: content)),
            proof: Digest256(bytes: proof), traceparent: rows.text(row, columns.traceparent), reason: reason,
            history: WaitingHistory(rows, row, columns), isDue: rows.bool(row, columns.isDue) ?? false, lease: lease,
            isDecidedAgain: rows.bool(row, columns.isDecidedAgain) ?? false)
    }
}
