import Foundation
import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Reads submissions from Kafka and commits offsets. The loop polls, passes events to `PartitionProgress`,
/// `CrashIsolation` and `IntakeGate`, and carries out their decisions. One thread owns the consumer and this object's
/// state. Tasks send messages to this thread only through the inbox.
final class ConsumerLoop {
    private let settings: PipelineSettings
    private let inbox: Inbox
    private let health: Health
    private let metrics: ReceiptdMetrics
    private let logger: Logger
    private let assignment: PartitionAssignment
    private let intake: RecordIntake
    private let isolated: IsolatedIntake
    private let fetching: FetchControl
    private let offsets: OffsetCommitter
    private let handover: PartitionHandover
    private let unreadable: UnreadableBatchWatch

    private var refused: RefusedReading
    private var isStopping = false
    /// The error that ended the consumer; nil while the consumer works.
    private var fatal: KafkaError?
    private var nextBeat = 0.0
    /// True once the loop has created a consumer, which shows that the settings are right.
    private var hasConsumed = false
    private var said = RepeatedWords()

    init(
        settings: PipelineSettings, worker: SubmissionWorker,
        stores: PipelineStores, topics: [BatchedTopic], turn: IsolationTurn, inbox: Inbox, health: Health,
        logger: Logger
    ) {
        (self.settings, self.inbox, self.health, self.logger) = (settings, inbox, health, logger)
        metrics = worker.metrics.all
        assignment = PartitionAssignment(
            maximumInFlight: settings.maximumInFlight, parkedLeases: worker.parking.leases, metrics: metrics)
        intake = RecordIntake(
            assignment: assignment, worker: worker, signingKeys: settings.signingKeys, inbox: inbox, logger: logger)
        fetching = FetchControl(assignment: assignment, intake: intake, paused: metrics.paused, logger: logger)
        let checkpointer = OffsetCheckpointer(
            store: stores.checkpoints, topic: settings.submissionsTopic, failures: health.failures)
        offsets = OffsetCommitter(
            assignment: assignment, intake: intake, checkpointer: checkpointer, inbox: inbox, logger: logger)
        isolated = IsolatedIntake(
            assignment: assignment, intake: intake, offsets: offsets, slots: worker.parking.slots, turn: turn,
            logger: logger)
        handover = PartitionHandover(
            assignment: assignment, offsets: offsets, isolated: isolated,
            preparation: PartitionPreparation(
                unpublished: stores.outbox, worker: worker, checkpointer: checkpointer,
                claims: ClaimRestoration(
                    search: LossSearch(
                        topics: [.init(name: settings.submissionsTopic, properties: settings.consumerProperties)]
                            + topics.map { .init(name: $0.name, properties: $0.consumerProperties) },
                        log: KafkaLog.forward(to: logger, folding: settings.kafkaVoice)),
                    published: PublishedGrants(
                        topic: settings.outcomesTopic, properties: settings.consumerProperties,
                        log: KafkaLog.forward(to: logger, folding: settings.kafkaVoice)),
                    checkpoints: stores.checkpoints, claims: stores.claims,
                    ledger: worker.ledger, metrics: metrics,
                    failures: health.failures, logger: logger),
                inbox: inbox, logger: logger),
            health: health, metrics: metrics, graceSeconds: settings.shutdownGraceSeconds, logger: logger)
        unreadable = UnreadableBatchWatch(
            consumerProperties: settings.consumerProperties, voice: settings.kafkaVoice, logger: logger)
        refused = RefusedReading(health: health)
    }

    /// Runs until the inbox has a `stop` message.
    ///
    /// After a pause the loop replaces a consumer that has a fatal error (for example, another consumer took its
    /// `group.instance.id`). The loop also replaces the consumer to read partitions again from a lower offset. Before
    /// each replacement the loop abandons the records in flight, and Kafka delivers them again. If the loop cannot
    /// create the new consumer, for example while an operator replaces a file of certificates, it tries again until it
    /// can.
    ///
    /// Throws if the loop cannot create the first consumer, because the settings are wrong.
    func run() throws(KafkaError) {
        intake.worker.ledger.watchFallBacks { [inbox] in inbox.post(.databaseFellBack) }
        while !isStopping {
            let why: String
            do throws(KafkaError) {
                try consume()
                guard let reason = whyReplaced() else { return }
                why = reason
            } catch {
                guard hasConsumed else { throw error }
                health.failures.report(error, of: .consumer)
                why = "the worker cannot create a new Kafka consumer: \(error.message)"
            }
            health.set(.joinedGroup, unmet: why)
            let end = WallClock.monotonicSeconds + PipelineLimits.replacementSeconds
            while !isStopping, WallClock.monotonicSeconds < end {
                health.beat(.consumerLoop)
                handleInbox(waitingSeconds: min(1, end - WallClock.monotonicSeconds))
            }
        }
    }

    /// Returns why the loop replaces the consumer; nil if the consumer ended because the loop stops.
    private func whyReplaced() -> String? {
        let restart = assignment.takeRestartReason()
        if let error = fatal {
            fatal = nil
            let words = ConsumerTrouble.words(error)
            logger.warning(
                "the Kafka consumer cannot recover: the worker replaces it",
                [.error: "\(error.name)", .reason: "\(words ?? error.message)"])
            return words ?? "the worker is replacing its Kafka consumer"
        }
        guard let restart else { return nil }
        logger.warning("the worker leaves the consumer group and joins it again", [.reason: "\(restart)"])
        return "the worker is replacing its Kafka consumer"
    }

    private var mustReplace: Bool { fatal != nil || assignment.restartReason != nil }

    /// Runs one consumer until the loop stops or must replace it. If the loop stops, this finishes the records in
    /// flight within the grace period, commits, and leaves the group. Before a replacement it abandons the records in
    /// flight.
    private func consume() throws(KafkaError) {
        let consumer = try KafkaConsumer(
            properties: settings.consumerProperties, log: KafkaLog.forward(to: logger, folding: settings.kafkaVoice))
        offsets.begin(consumer)
        try consumer.subscribe(
            [settings.submissionsTopic],
            rebalance: KafkaConsumer.Rebalance(
                assigned: { [unowned self, unowned consumer] in handover.assigned($0, consumer) { inbox.isStopPosted }
                },
                revoked: { [unowned self, unowned consumer] in revoked($0, lost: $1, consumer) }))
        hasConsumed = true
        health.failures.recovered(.consumer)
        while !isStopping, !mustReplace {
            handleInbox(waitingSeconds: 0)
            everySecond(consumer)
            offsets.turn(consumer)
            fetching.resumeBacklogged(consumer)
            isolated.step(consumer)
            takeRecords(consumer)
        }
        if mustReplace {
            handover.abandon()
            consumer.close(withinSeconds: PipelineLimits.closeSeconds)
        } else {
            handover.stop(consumer) { handleInbox(waitingSeconds: $0) }
        }
        fetching.reopen()
        unreadable.forgetAll()
    }

    private func revoked(_ partitions: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        handover.revoked(partitions, consumer, lost: lost, isStopping: isStopping) { handleInbox(waitingSeconds: $0) }
        for partition in partitions { unreadable.forget(partition) }
    }

    private func handleInbox(waitingSeconds: Double) {
        for message in inbox.take(waitingSeconds: waitingSeconds) {
            switch message {
            case .stop: isStopping = true
            case .prepared(let partition, let number, let highestDecided, let stored):
                handover.prepared(partition, assignment: number, highestDecided: highestDecided, stored)
            case .databaseFellBack: assignment.restart(.databaseFellBack)
            case .claimsAreEntered(let takeover): handover.claimsAreEntered(takeover: takeover)
            case .checkpointed(let batch, let result): offsets.checkpointed(batch, result)
            case .looked(let look, let found): offsets.looked(look, found)
            case .accusation(let request): isolated.asked(request)
            case .ended(let record, let isDone): intake.ended(record, isDone: isDone)
            }
        }
    }

    private func takeRecords(_ consumer: KafkaConsumer) {
        switch assignment.gate.turn(now: WallClock.monotonicSeconds, held: intake.worker.parking.slots.held) {
        case .poll: break
        case .wait: return handleInbox(waitingSeconds: 0.05)
        case .pause: fetching.pause(consumer)
        case .resume:
            fetching.resume(consumer)
            // The records that came during the pause may have taken all places for records in memory.
            if assignment.gate.isFull { return }
        }
        let patience = pollMilliseconds
        for number in 0..<PipelineLimits.recordsPerTurn {
            var polled = consumer.poll(timeoutMilliseconds: 0)
            if polled == nil, number == 0 {
                fetching.wakeFetchers(consumer)
                polled = consumer.poll(timeoutMilliseconds: patience)
            }
            guard let polled else { return }
            handle(polled, consumer)
            if assignment.gate.isFull || fatal != nil { return }
        }
    }

    /// The milliseconds that a poll waits for a record.
    private var pollMilliseconds: Int32 {
        if assignment.gate.isPaused || assignment.isolation.isRestricted { return 20 }
        return assignment.gate.records > 0 ? 100 : PipelineLimits.idlePollMilliseconds
    }

    private func handle(_ polled: KafkaConsumer.Polled, _ consumer: KafkaConsumer) {
        switch polled {
        case .record(let record):
            CrashPoint.polled.reached()
            unreadable.progressed(record.topicPartition)
            refused.fetched(record.topicPartition)
            intake.lookForDeleted(before: record.offset, in: record.topicPartition, consumer)
            let taken = intake.take(record)
            fetching.took(taken, from: record.topicPartition, consumer)
        case .partitionEnd(let partition, let next):
            intake.lookForDeleted(before: next, in: partition, consumer)
            assignment.gate.ended(partition, at: next)
            refused.fetched(partition)
        case .trouble(let error):
            guard !unreadable.failed(error, next: { assignment.next(of: $0) }) else { return }
            if error.isFatal { fatal = error }
            refused.failed(error, hasPartitions: !assignment.partitions.isEmpty)
            // librdkafka repeats an error every few seconds, for each partition.
            let topic = error.place?.topicPartition.topic ?? ""
            let words = ConsumerTrouble.words(error) ?? error.message
            guard let leftOut = said.leftOut(of: "\(error.name) \(topic)", now: WallClock.monotonicSeconds) else {
                return
            }
            logger.warning(
                "Kafka reports an error",
                [.error: "\(error.name)", .reason: "\(words)", .count: .stringConvertible(leftOut + 1)])
        }
    }

    private func everySecond(_ consumer: KafkaConsumer) {
        let now = WallClock.monotonicSeconds
        guard now >= nextBeat else { return }
        nextBeat = now + 1
        health.beat(.consumerLoop)
        assignment.reportLag(consumer)
        assignment.reportInFlight(metrics)
        unreadable.look(at: assignment.readings, consumer) { batch, partition in
            intake.stepOver(batch, of: partition)
            return true
        }
        refused.retry(assignment, consumer)
        // librdkafka reports a fatal error once, and `poll` does not always return it.
        fatal = fatal ?? consumer.fatalError
    }
}
