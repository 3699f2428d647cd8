import Fulfillment
import Kafka
import Logging
import Operations

/// Does what `CrashIsolation` decides. On the consumer's thread.
struct IsolatedIntake {
    let assignment: PartitionAssignment
    let intake: RecordIntake
    let offsets: OffsetCommitter
    /// Parked submissions, of which none is leased meanwhile.
    let slots: WorkSlots
    let logger: Logger

    /// To be called after every change of the assignment.
    func update() {
        let change = assignment.isolation.update()
        slots.setLeasingPaused(assignment.isolation.isActive)
        switch change {
        case .began(let records):
            logger.warning(
                "the process died again and again without progress: records are taken one at a time",
                [.count: .stringConvertible(records)])
        case .ended:
            logger.info("isolation is over: records are taken side by side")
            for partition in assignment.all { intake.admitPending(of: partition) }
        case nil: break
        }
    }

    /// Begins the next record where nothing is in flight.
    func step(_ consumer: KafkaConsumer) {
        guard assignment.isolation.isActive else { return }
        let now = WallClock.monotonicSeconds
        guard assignment.gate.isIdle else { return assignment.isolation.isBusy(now: now) }
        update()
        // A commit under way may come after the one that names the record.
        guard slots.isLeasingIdle, !offsets.isCommitUnderWay else { return }
        switch assignment.isolation.next(among: candidates(consumer), now: now) {
        case .isolate(let offset, let partition, let metadata):
            isolate(offset, of: partition, metadata: metadata, consumer)
        case .deadLetter(let offset, let partition, let deaths): bury(offset, of: partition, deaths: deaths)
        case nil: break
        }
    }

    private func candidates(_ consumer: KafkaConsumer) -> [CrashIsolation.Candidate] {
        assignment.partitions.compactMap { partition, state in
            guard assignment.gate.isOpen(partition) else { return nil }
            let end = consumer.cachedWatermarks(partition)?.high
            return CrashIsolation.Candidate(
                partition: partition, next: assignment.gate.firstPending(of: partition),
                isAtEnd: end.map { state.progress.position ?? .min >= $0 } ?? false)
        }
    }

    private func isolate(_ offset: Int64, of partition: TopicPartition, metadata: String, _ consumer: KafkaConsumer) {
        guard let state = assignment[partition] else { return }
        do throws(KafkaError) {
            guard try offsets.commitPosition(of: partition, metadata: metadata, consumer) else { return }
        } catch {
            return logger.warning(
                "Kafka does not take the commit that names the record to isolate: it waits", [.error: "\(error.name)"])
        }
        assignment.isolation.isolated(offset, of: partition, now: WallClock.monotonicSeconds)
        guard let record = assignment.gate.admitIsolated(of: partition) else { return }
        intake.admit(record, to: state)
    }

    /// Its sender is not told: who has paid shall not be told no for a fault of ours.
    private func bury(_ offset: Int64, of partition: TopicPartition, deaths: Int) {
        let detail =
            "the process died \(deaths) times while only this record was in flight, "
            + "after \(CrashHistory.concurrentStarts) starts without progress"
        logger.error(
            "a record kills the process: it is set aside as a dead letter",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(offset), .count: .stringConvertible(deaths),
            ])
        guard let state = assignment[partition], let record = assignment.gate.admitIsolated(of: partition) else {
            return
        }
        // Nothing looks into it any more.
        intake.admit(record, to: state, as: DeadLetter(reason: .crashed, detail: detail))
    }
}
