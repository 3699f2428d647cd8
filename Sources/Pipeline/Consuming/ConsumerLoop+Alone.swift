import Fulfillment
import Kafka
import Logging
import Operations

/// Records that may have killed the process are taken one at a time, with nothing else in flight in all of it.
///
/// Which record it is stands in Kafka before it begins: whoever finds that note died of it, or beside it. Only two such
/// deaths make a record a dead letter; one that was in flight together with others never becomes one.
extension ConsumerLoop {
    /// Whether the partition's next record may begin at once.
    func mayAdmit(to state: AssignedPartition) -> Bool {
        guard state.preparation != nil, state.isStartKnown, !isCareful else { return false }
        return !state.isNarrow || state.admittedCount < CrashNote.records
    }

    /// What waits may begin, as far as it may.
    func admitHeld(_ state: AssignedPartition, of partition: TopicPartition) {
        guard !state.held.isEmpty, !leaving.contains(partition) else { return }
        var count = 0
        while count < state.held.count, mayAdmit(to: state) {
            admit(state.held[count], to: state)
            count += 1
        }
        state.held.removeFirst(count)
    }

    /// To be called after every change of the assignment or of a note.
    func updateCare() {
        let wasCareful = isCareful
        isCareful = partitions.values.contains { $0.note.left > 0 }
        worker.parking.slots.setLeasingPaused(isCareful)
        if isCareful, !wasCareful {
            logger.warning(
                "the process died again and again without progress: records are taken one at a time",
                [.count: .stringConvertible(partitions.values.reduce(0) { $0 + $1.note.left })])
        } else if wasCareful, !isCareful {
            logger.info("records are taken side by side again")
            for (partition, state) in partitions { admitHeld(state, of: partition) }
        }
    }

    /// One step: begins the next record where nothing is in flight.
    func takeAlone(_ consumer: KafkaConsumer) {
        releaseHeldBack(consumer)
        guard isCareful else { return }
        let now = WallClock.monotonicSeconds
        guard window.records == partitions.values.reduce(0, { $0 + $1.held.count }) else { return forgive(now) }
        updateCare()
        // A commit under way may come after the one that names the record.
        guard worker.parking.slots.isLeasingIdle, commitSentAt == nil, now >= nextNaming else { return }
        for (partition, state) in partitions.sorted(by: { $0.key < $1.key }) where state.note.left > 0 {
            guard state.preparation != nil, state.isStartKnown, !leaving.contains(partition) else { continue }
            guard let record = state.held.first else {
                lookForEnd(of: state, partition, now, consumer)
                continue
            }
            state.idleSince = nil
            begin(record, state, now, consumer)
            return
        }
    }

    private func begin(_ record: ConsumerRecord, _ state: AssignedPartition, _ now: Double, _ consumer: KafkaConsumer) {
        if state.note.isPoison(record.offset) {
            state.held.removeFirst()
            return bury(record, state)
        }
        let partition = record.topicPartition
        checkpointNow([partition], seconds: PipelineLimits.finalCheckpointSeconds)
        var note = state.note
        note.name(record.offset)
        // Without its name in Kafka it is not begun.
        nextNaming = now + PipelineLimits.namingRetrySeconds
        guard let position = state.progress.position, state.progress.committable == position else { return }
        let mark = CommitMark(offset: position, metadata: note.metadata)
        do throws(KafkaError) {
            try consumer.commit(
                [partition: mark], timeoutMilliseconds: Int32(PipelineLimits.finalCommitSeconds * 1000))
        } catch {
            return logger.warning("a record that is to be taken alone waits for Kafka", [.error: "\(error.name)"])
        }
        nextNaming = 0
        aloneSince = WallClock.monotonicSeconds
        state.note = note
        state.progress.commitSucceeded(mark)
        state.held.removeFirst()
        admit(record, to: state)
    }

    /// Its sender is not told: who has paid shall not be told no for a fault of ours.
    private func bury(_ record: ConsumerRecord, _ state: AssignedPartition) {
        let detail =
            "the process died \(state.note.deaths) times while this record alone was in flight, "
            + "after \(CrashNote.startsInCompany) starts without progress"
        logger.error(
            "a record kills the process: it is set aside as a dead letter",
            [
                .topic: "\(record.topicPartition.topic)",
                .partition: .stringConvertible(record.topicPartition.partition),
                .offset: .stringConvertible(record.offset), .count: .stringConvertible(state.note.deaths),
            ])
        // Nothing looks into it any more.
        admit(record, to: state, as: .deadLetter(DeadLetter(reason: .crashed, detail: detail)))
    }

    /// What waits that long for Apple or the database has done no harm: a death in that time is an operator's.
    private func forgive(_ now: Double) {
        guard now - aloneSince > PipelineLimits.aloneSeconds else { return }
        for state in partitions.values where state.note.isAlone { state.note.forgive() }
    }

    /// A partition without records cannot have killed anyone.
    private func lookForEnd(
        of state: AssignedPartition, _ partition: TopicPartition, _ now: Double, _ consumer: KafkaConsumer
    ) {
        let since = state.idleSince ?? now
        state.idleSince = since
        let marks = consumer.cachedWatermarks(partition)
        let isAtEnd = marks.map { state.progress.position ?? .min >= $0.high } ?? false
        if isAtEnd || now - since > PipelineLimits.idleSuspectSeconds { state.note = CrashNote() }
    }
}

extension ConsumerLoop {
    /// A partition whose records wait must not fill the window: it is paused, which is safe once it gave one.
    func holdBack(_ partition: TopicPartition, _ consumer: KafkaConsumer) {
        guard let state = partitions[partition], !state.isHeldBack, !state.isPaused else { return }
        guard isCareful ? state.held.count >= state.note.left : isWaitingForProgress(state) else { return }
        do throws(KafkaError) {
            try consumer.pause([partition])
            state.isHeldBack = true
        } catch {
            logger.debug("a partition could not be paused", [.error: "\(error.name)"])
        }
    }

    private func isWaitingForProgress(_ state: AssignedPartition) -> Bool {
        state.isNarrow && state.held.count >= CrashNote.records
    }

    private func releaseHeldBack(_ consumer: KafkaConsumer) {
        guard !isCareful else { return }
        for (partition, state) in partitions where state.isHeldBack {
            admitHeld(state, of: partition)
            if isWaitingForProgress(state) { continue }
            if isPaused {
                // With the others, when the window has room again.
                state.isHeldBack = false
                state.isPaused = true
                continue
            }
            do throws(KafkaError) {
                try consumer.resume([partition])
                state.isHeldBack = false
            } catch {
                logger.debug("a partition could not be resumed", [.error: "\(error.name)"])
            }
        }
    }
}
