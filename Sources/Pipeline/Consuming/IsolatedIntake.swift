import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Carries out the decisions of `CrashIsolation` on the consumer's thread. To find a record that kills processes, the
/// worker works on one record at a time.
final class IsolatedIntake {
    private let assignment: PartitionAssignment
    let intake: RecordIntake
    private let offsets: OffsetCommitter
    /// The slots for work in memory. While records are isolated, the slots allow no leasing of rows.
    private let slots: WorkSlots
    private let turn: IsolationTurn
    private let logger: Logger
    /// The open request of the isolated record's task to store or withdraw the accusation; nil if there is none.
    private var request: AccusationRequest?

    init(
        assignment: PartitionAssignment, intake: RecordIntake, offsets: OffsetCommitter, slots: WorkSlots,
        turn: IsolationTurn, logger: Logger
    ) {
        self.assignment = assignment
        self.intake = intake
        self.offsets = offsets
        self.slots = slots
        self.turn = turn
        self.logger = logger
    }

    /// Begins or ends isolation, as the assigned partitions require. Call it after every change of the assignment.
    func update() {
        let change = assignment.isolation.update()
        slots.setLeasingPaused(assignment.isolation.isRestricted)
        switch change {
        case .began(let records):
            logger.warning(
                "the process crashed repeatedly without progress: the worker takes records one at a time",
                [.count: .stringConvertible(records)])
        case .ended:
            logger.info("isolation is over: the worker takes records concurrently again")
            turn.pass(.submissions)
            for partition in assignment.all { intake.admitPending(of: partition) }
        case nil: break
        }
    }

    /// Isolates the next record if nothing is in flight. Otherwise handles the isolated record's request. Call it at
    /// each turn of the loop.
    func step(_ consumer: KafkaConsumer) {
        holdBack()
        guard assignment.isolation.isActive else { return }
        guard assignment.gate.isIdle else { return answerRequest(consumer) }
        if let partition = assignment.isolation.takeEnded() { ended(partition, consumer) }
        update()
        // The loop waits for a commit under way. That commit could arrive after the commit that names the record, and
        // overwrite the new metadata.
        guard assignment.isolation.isActive, slots.isLeasingIdle, !offsets.isCommitUnderWay, turn.take(.submissions)
        else { return }
        switch assignment.isolation.next(among: candidates(consumer), now: WallClock.monotonicSeconds) {
        case .isolate(let offset, let partition, let metadata):
            isolate(offset, of: partition, metadata: metadata, consumer)
        case .deadLetter(let offset, let partition, let deaths): bury(offset, of: partition, deaths: deaths)
        case nil: turn.pass(.submissions)
        }
    }

    /// Commits that the isolated record is done, so that a later death does not count against it. Then passes the turn
    /// to the other readers of records, which may work before this reader isolates its next record.
    private func ended(_ partition: TopicPartition, _ consumer: KafkaConsumer) {
        defer { turn.pass(.submissions) }
        let metadata = assignment.isolation.metadata(of: partition, hasMoved: true)
        do throws(KafkaError) {
            _ = try offsets.commitPosition(of: partition, metadata: metadata, consumer)
        } catch {
            logger.warning(
                "the worker could not commit the offset of an isolated record that it finished",
                [.error: "\(error.name)"])
        }
    }

    /// Keeps the isolated record's request, to continue or to wait, until `step` handles it.
    func asked(_ request: AccusationRequest) {
        self.request?.end(false)
        self.request = request
    }

    /// Handles the isolated record's request to continue or to wait. While the record waits, other readers of records
    /// may take records. The isolated record continues when those records are done and Kafka has the accusation again.
    private func answerRequest(_ consumer: KafkaConsumer) {
        guard let request, !request.isOver else { return }
        if request.isAtWork { guard slots.isLeasingIdle, turn.take(.submissions) else { return } }
        // The loop waits for a commit under way, which could arrive after this commit and overwrite the new metadata.
        guard !offsets.isCommitUnderWay else { return }
        self.request = nil
        let isDurable = accuse(isAtWork: request.isAtWork, consumer)
        if isDurable, !request.isAtWork { turn.pass(.submissions) }
        request.end(isDurable)
    }

    private func accuse(isAtWork: Bool, _ consumer: KafkaConsumer) -> Bool {
        guard let (partition, metadata) = assignment.isolation.metadata(ofSuspectAtWork: isAtWork) else { return false }
        do throws(KafkaError) {
            guard try offsets.commitPosition(of: partition, metadata: metadata, consumer) else { return false }
        } catch {
            logger.warning(
                "the worker could not store in Kafka whether the isolated record is in progress: the record waits",
                [.error: "\(error.name)"])
            return false
        }
        assignment.isolation.suspectIs(atWork: isAtWork)
        return true
    }

    /// While another reader of records has the turn to isolate a record, or is the first to wait for the turn, lets no
    /// submission begin and no parked or held row be leased.
    private func holdBack() {
        if turn.isWanted(byOthersThan: .submissions) {
            assignment.isolation.isHeldBack = true
            slots.setLeasingPaused(true)
            if assignment.gate.isIdle || assignment.isolation.hasWaitingSuspect, slots.isLeasingIdle {
                turn.ended(.submissions)
            }
        } else if assignment.isolation.isHeldBack {
            guard turn.begin(.submissions) else { return }
            assignment.isolation.isHeldBack = false
            slots.setLeasingPaused(assignment.isolation.isActive)
            for partition in assignment.all { intake.admitPending(of: partition) }
        }
    }

    private func candidates(_ consumer: KafkaConsumer) -> [CrashIsolation.Candidate] {
        assignment.all.compactMap { partition in
            guard assignment.gate.isOpen(partition) else { return nil }
            let end = consumer.cachedWatermarks(partition)?.high
            return CrashIsolation.Candidate(
                partition: partition, next: assignment.gate.firstPending(of: partition),
                isAtEnd: end.map { assignment.reached(in: partition) ?? .min >= $0 } ?? false)
        }
    }

    private func isolate(_ offset: Int64, of partition: TopicPartition, metadata: String, _ consumer: KafkaConsumer) {
        guard let state = assignment[partition] else { return }
        do throws(KafkaError) {
            guard try offsets.commitPosition(of: partition, metadata: metadata, consumer) else { return }
        } catch {
            return logger.warning(
                "the worker could not store in Kafka which record it isolates: the record waits",
                [.error: "\(error.name)"])
        }
        assignment.isolation.isolated(offset, of: partition)
        guard let record = assignment.gate.admitIsolated(of: partition) else { return }
        intake.admit(record, to: state)
    }

    /// Makes the record a dead letter, unless the database has a decision on the record, or the record is parked. The
    /// sender gets no event, because receiptd must not reject a paying player for a fault of receiptd.
    private func bury(_ offset: Int64, of partition: TopicPartition, deaths: Int) {
        let detail =
            "the process died \(deaths) times while only this record was in flight, "
            + "after \(CrashHistory.concurrentStarts) starts without progress"
        guard let state = assignment[partition], let record = assignment.gate.admitIsolated(of: partition) else {
            return
        }
        // This makes the dead letter without decoding the record.
        intake.admit(record, to: state, as: DeadLetter(reason: .crashed, detail: detail))
    }
}
