import Fulfillment
import Kafka
import Logging
import Operations

extension ConsumerLoop {
    /// From here on the record takes its place in memory, also while it may not begin yet.
    func take(_ record: ConsumerRecord) {
        guard let partition = partitions[record.topicPartition] else { return }
        partition.next = record.offset + 1
        if let timestamp = record.timestampMilliseconds {
            worker.metrics.all.recordClock.took(
                topic: record.topicPartition.topic, partition: record.topicPartition.partition, offset: record.offset,
                timestamp: timestamp, now: WallClock.now.milliseconds)
        }
        if isPaused { return partition.deferred.append(record) }
        window.admit(bytes: record.byteCount)
        if partition.held.isEmpty, mayAdmit(to: partition) {
            admit(record, to: partition)
        } else {
            partition.held.append(record)
        }
    }

    /// Decodes, draws the player's ticket and starts the work. The order of tickets is the order of records.
    /// - Parameter known: what the record is taken for, whatever it holds.
    func admit(_ record: ConsumerRecord, to partition: AssignedPartition, as known: SubmissionDecoder.Decoded? = nil) {
        if partition.beginsNewEpoch(at: record.offset) { warnOfFallback(record) }
        let value = record.value ?? []
        let position = RecordPosition(
            topic: record.topicPartition.topic, partition: record.topicPartition.partition, offset: record.offset,
            timestamp: Timestamp(milliseconds: max(0, record.timestampMilliseconds ?? 0)),
            content: Digest256(hashing: value))
        let unread = unreadable.found(at: record.offset, of: record.topicPartition)
        let decoded =
            known ?? unread.map { .deadLetter($0.letter) }
            ?? decoder.decode(record.value, signatureHeaders: signatureHeaders(of: record))
        CrashPoint.passed(decoded)
        CrashPoint.decoded.reached()
        var ticket: PlayerLanes.Ticket?
        if case .submission(let submission) = decoded { ticket = worker.enterLane(of: submission.playerID) }
        let admitted = AdmittedRecord(
            record: record, ticket: ticket, assignment: partition.assignment, epoch: partition.progress.epoch,
            mayBeRedelivered: partition.mayBeRedelivered(record.offset))
        let item = SubmissionInHand(admitted, at: position, decoded: decoded)
        partition.admit(item)
        if let unread { partition.stepOver(to: unread.last) }
        CrashPoint.admitted.reached()
        start(item)
    }

    private func start(_ item: SubmissionInHand) {
        worker.parking.slots.freshBegan()
        item.start { [worker, inbox] item in
            var isDone = true
            do throws(Abandoned) { try await worker.work(on: item) } catch { isDone = false }
            if let ticket = item.ticket { worker.lanes.leave(ticket) }
            worker.parking.slots.freshEnded()
            item.end()
            inbox.post(.ended(item, isDone: isDone))
        }
    }

    private func signatureHeaders(of record: ConsumerRecord) -> [[UInt8]] {
        guard !settings.signingKeys.isEmpty else { return [] }
        return record.headers.filter { $0.name == SubmissionSignature.headerName }.compactMap(\.value)
    }

    func handleInbox(waitingSeconds: Double) {
        for message in inbox.take(waitingSeconds: waitingSeconds) {
            switch message {
            case .stop: isStopping = true
            case .prepared(let partition, let assignment, let highestDecided, let stored):
                prepared(partition, assignment: assignment, highestDecided: highestDecided, stored)
            case .checkpointed(let batch, let result): checkpointed(batch, result)
            case .looked(let look, let found):
                if let restart = checkpointer.end(look, found, partitions) { rejoin(restart) }
            case .ended(let item, let isDone): ended(item, isDone: isDone)
            }
        }
    }

    private func ended(_ item: SubmissionInHand, isDone: Bool) {
        window.release(bytes: item.byteCount)
        guard let partition = partitions[item.topicPartition], partition.assignment == item.assignment
        else { return }
        if let restart = partition.ended(item, isDone: isDone) { return rejoin(restart) }
        if isDone, partition.note.left > 0 { partition.note.pass() }
    }

    private func warnOfFallback(_ record: ConsumerRecord) {
        logger.warning(
            "offsets fell back: the topic was made anew, or records came twice",
            [
                .topic: "\(record.topicPartition.topic)",
                .partition: .stringConvertible(record.topicPartition.partition),
                .offset: .stringConvertible(record.offset),
            ])
    }
}
