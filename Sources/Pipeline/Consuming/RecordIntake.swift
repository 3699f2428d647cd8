import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Takes records into memory, and starts the work on records that may begin. Only the consumer's thread uses it.
struct RecordIntake {
    let assignment: PartitionAssignment
    let worker: SubmissionWorker
    let inbox: Inbox
    let logger: Logger
    private let decoder: SubmissionDecoder
    private let isSigned: Bool

    init(
        assignment: PartitionAssignment, worker: SubmissionWorker, signingKeys: [String], inbox: Inbox, logger: Logger
    ) {
        self.assignment = assignment
        self.worker = worker
        self.inbox = inbox
        self.logger = logger
        decoder = SubmissionDecoder(signingKeys: signingKeys)
        isSigned = !signingKeys.isEmpty
    }

    /// Takes the record into memory, and starts its work if it may begin now.
    @discardableResult
    func take(_ record: ConsumerRecord) -> IntakeGate.Taken {
        let partition = record.topicPartition
        let taken = assignment.gate.take(record, assignment.admission(to: partition))
        guard taken != .unassigned, let state = assignment[partition] else { return taken }
        if let timestamp = record.timestampMilliseconds, timestamp > 0 {
            worker.metrics.all.recordClock.took(
                topic: partition.topic, partition: partition.partition, offset: record.offset, timestamp: timestamp,
                now: WallClock.now.milliseconds)
        }
        if taken == .admitted { admit(record, to: state) }
        return taken
    }

    /// Takes a record without a value, which represents the whole unreadable batch. The worker publishes the record as
    /// the batch's dead letter. When the broker has acknowledged the dead letter, the batch is done.
    func stepOver(_ batch: UnreadableBatches.Found, of partition: TopicPartition) {
        assignment[partition]?.unreadable[batch.first] = batch
        take(ConsumerRecord(topicPartition: partition, offset: batch.first))
        assignment.gate.stepOver(to: batch.last, of: partition)
    }

    /// Admits the partition's pending records, as far as they may begin.
    func admitPending(of partition: TopicPartition) {
        guard let state = assignment[partition] else { return }
        let admission = assignment.admission(to: partition)
        while let record = assignment.gate.admitNext(of: partition, admission) { admit(record, to: state) }
    }

    /// Notes that Kafka has committed or refused these partitions' starts, and admits pending records.
    func startsAreCommitted(_ partitions: [TopicPartition]) {
        for partition in partitions {
            assignment.gate.fulfil(.startCommit, of: partition)
            admitPending(of: partition)
        }
    }

    /// Decodes the record, issues a ticket in the player's queue, and starts the work. Tickets have the order of the
    /// records.
    /// - Parameter known: the dead letter for this record, which is then not decoded; nil to decode the record.
    func admit(_ record: ConsumerRecord, to partition: AssignedPartition, as known: DeadLetter? = nil) {
        if partition.beginsNewEpoch(at: record.offset) {
            // The unreadable batches belong to the old log, except the batch that this record represents.
            partition.unreadable = partition.unreadable.filter { $0.key == record.offset && record.value == nil }
            warnOfReset(record)
        }
        let position = RecordPosition(
            topic: record.topicPartition.topic, partition: record.topicPartition.partition, offset: record.offset,
            timestamp: Timestamp(milliseconds: max(0, record.timestampMilliseconds ?? 0)),
            content: Digest256(hashing: record.value ?? []))
        let unread = partition.unreadable.removeValue(forKey: record.offset)
        let decoded =
            (known ?? unread?.letter).map { .deadLetter($0) }
            ?? decoder.decode(key: record.key, record.value, signatureHeaders: signatureHeaders(of: record))
        if case .submission(let submission) = decoded { worker.traffic.took(submission, in: record) }
        CrashPoint.passed(decoded)
        CrashPoint.decoded.reached()
        let ticket = decoded.submission.flatMap { worker.enterLane(of: $0.playerID) }
        let suspect = assignment.isolation.suspectAtWork
        let admitted = AdmittedRecord(
            record: record, decoded: decoded, ticket: ticket, assignment: partition.assignment,
            epoch: partition.progress.epoch, mayBeRedelivered: partition.mayBeRedelivered(record.offset),
            isDecidedAgain: partition.isDecidedAgain(record.offset, sentAt: position.timestamp),
            fallBackCount: partition.fallBackCount, isIsolated: suspect != nil, isSetAside: suspect?.isPoison ?? false)
        let inHand = RecordInHand(admitted, at: position)
        partition.admit(inHand)
        if let unread { partition.stepOver(to: unread.last) }
        CrashPoint.admitted.reached()
        start(inHand)
    }

    private func start(_ record: RecordInHand) {
        worker.parking.slots.freshBegan()
        let accusation = record.admitted.isIsolated ? accusation : nil
        record.item.work.start { [worker, inbox] in
            var isDone = true
            do {
                if let accusation {
                    try await Suspected.$work.withValue(accusation) { try await worker.work(on: record.item) }
                } else {
                    try await worker.work(on: record.item)
                }
            } catch { isDone = false }
            if let ticket = record.admitted.ticket { worker.lanes.leave(ticket) }
            worker.parking.slots.freshEnded()
            record.item.work.end()
            inbox.post(.ended(record, isDone: isDone))
        }
    }

    /// The accusation, which makes a death count against the isolated record. It is already stored, in the commit that
    /// named the record.
    private var accusation: Accusation {
        Accusation { [inbox] isAtWork in
            await AccusationRequest.ask(isAtWork) { inbox.post(.accusation($0)) }
        }
    }

    func ended(_ record: RecordInHand, isDone: Bool) {
        assignment.gate.release(bytes: record.admitted.byteCount)
        let partition = record.topicPartition
        guard let state = assignment[partition], state.assignment == record.admitted.assignment else { return }
        if let restart = state.ended(record, isDone: isDone) { return assignment.restart(restart) }
        if isDone { assignment.isolation.finished(partition) }
    }

    private func signatureHeaders(of record: ConsumerRecord) -> [[UInt8]] {
        guard isSigned else { return [] }
        return record.values(of: RecordSignature.headerName)
    }

    private func warnOfReset(_ record: ConsumerRecord) {
        logger.warning(
            "a record has a lower offset than an earlier record: the topic was recreated, or Kafka sent records twice",
            [
                .topic: "\(record.topicPartition.topic)",
                .partition: .stringConvertible(record.topicPartition.partition),
                .offset: .stringConvertible(record.offset),
            ])
    }
}
