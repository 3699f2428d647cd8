import Foundation
import Fulfillment
import Kafka
import Logging
import Operations

/// Takes records from Kafka and moves offsets. One thread owns the consumer and everything in here; tasks reach it
/// only through the inbox.
final class ConsumerLoop {
    let settings: PipelineSettings
    let worker: SubmissionWorker
    let unpublished: any UnpublishedEvents
    let checkpointer: OffsetCheckpointer
    let inbox: Inbox
    let health: Health
    let logger: Logger
    let decoder: SubmissionDecoder

    var partitions: [TopicPartition: AssignedPartition] = [:]
    var window: IntakeWindow
    var assignments: UInt64 = 0
    var isStopping = false
    var isPaused = false
    var fullSince: Double?
    /// A record came since librdkafka was last asked to fetch.
    var isFed = false
    /// Partitions that are being drained.
    var leaving: Set<TopicPartition> = []
    /// Where partitions ended that went: of use to a planted fault only.
    var givenBack: [TopicPartition: Int64] = [:]
    /// Why the group is to be left and joined again.
    var rejoinReason: String?
    /// Where partitions are to start that were found to have started too high.
    var lowerStarts: [TopicPartition: Int64] = [:]
    var checkpointsUnderWay = 0
    var nextLook = 0.0
    /// The database has checkpoints that Kafka has not.
    var mayCommit = false
    /// When the commit was sent whose outcome is not known yet, in monotonic seconds.
    var commitSentAt: Double?
    /// Records are taken one at a time.
    var isCareful = false
    var nextNaming = 0.0
    var aloneSince = 0.0
    /// What ended the consumer.
    private var fatal: KafkaError?
    var nextCommit = 0.0
    private var nextBeat = 0.0
    var gauges: PartitionGauges
    var unreadable = UnreadableBatches()
    let examination: BatchExamination
    /// The partitions that Kafka does not let us read.
    var refused: Set<TopicPartition> = []
    var nextTry = 0.0

    init(
        settings: PipelineSettings, worker: SubmissionWorker, unpublished: any UnpublishedEvents,
        checkpoints: any OffsetCheckpoints, inbox: Inbox, health: Health, logger: Logger
    ) {
        self.settings = settings
        self.worker = worker
        self.unpublished = unpublished
        checkpointer = OffsetCheckpointer(
            store: checkpoints, topic: settings.submissionsTopic, failures: health.failures)
        self.inbox = inbox
        self.health = health
        self.logger = logger
        examination = BatchExamination(
            probe: BatchProbe(
                properties: settings.consumerProperties,
                log: KafkaLog.forward(to: logger, folding: settings.kafkaVoice)))
        decoder = SubmissionDecoder(signature: SubmissionSignature(keys: settings.signingKeys))
        window = IntakeWindow(maximumRecords: settings.maximumInFlight)
        gauges = PartitionGauges(
            lag: worker.metrics.all.consumerLag, count: worker.metrics.all.assignedPartitions,
            clock: worker.metrics.all.recordClock)
    }

    /// Runs until the inbox says stop. A consumer that can never go on (its static member id was taken by another, say)
    /// is replaced by a fresh one after a pause: what was in flight is given up and comes again. So is one whose
    /// partitions are to be read again from further back.
    func run() throws(KafkaError) {
        while !isStopping {
            try consume()
            var reason: String?
            if let error = fatal {
                logger.warning(
                    "Kafka's consumer is beyond repair: a new one takes its place",
                    [.error: "\(error.name)", .reason: "\(ConsumerTrouble.words(error) ?? error.message)"])
                reason = ConsumerTrouble.words(error)
            } else if let reason = rejoinReason {
                logger.warning("the group is left and joined again", [.reason: "\(reason)"])
            } else {
                return
            }
            fatal = nil
            rejoinReason = nil
            health.set(.joinedGroup, unmet: reason ?? "Kafka's consumer is being replaced")
            let end = WallClock.monotonicSeconds + PipelineLimits.replacementSeconds
            while !isStopping, WallClock.monotonicSeconds < end {
                health.beat(.consumerLoop)
                handleInbox(waitingSeconds: min(1, end - WallClock.monotonicSeconds))
            }
        }
    }

    /// One consumer's life. On stop it finishes what is in flight, commits, and leaves the group.
    private func consume() throws(KafkaError) {
        let consumer = try KafkaConsumer(
            properties: settings.consumerProperties, log: KafkaLog.forward(to: logger, folding: settings.kafkaVoice))
        commitSentAt = nil
        consumer.onCommit = { [unowned self] result in self.noteCommit(result) }
        try consumer.subscribe(
            [settings.submissionsTopic],
            rebalance: KafkaConsumer.Rebalance(
                assigned: { [unowned self, unowned consumer] in self.assigned($0, consumer) },
                revoked: { [unowned self, unowned consumer] in self.revoked($0, lost: $1, consumer) }))
        while !isStopping, fatal == nil, rejoinReason == nil {
            handleInbox(waitingSeconds: 0)
            everySecond(consumer)
            takeAlone(consumer)
            takeRecords(consumer)
        }
        if fatal == nil, rejoinReason == nil { stop(consumer) } else { bury(consumer) }
    }

    private func bury(_ consumer: KafkaConsumer) {
        // It can commit nothing: as if its partitions were lost. First, so that closing finds nothing to wait for.
        depart(Array(partitions.keys), seconds: PipelineLimits.finalCheckpointSeconds)
        forget(Array(partitions.keys), lost: true)
        consumer.close()
        fullSince = nil
        notePaused(false)
    }

    private func takeRecords(_ consumer: KafkaConsumer) {
        if window.isFull, !isPaused {
            // Waiting keeps the prefetch; pausing throws it away, but lets us answer the group while we wait longer.
            let now = WallClock.monotonicSeconds
            let since = fullSince ?? now
            fullSince = since
            if now - since < PipelineLimits.fullBeforePauseSeconds {
                return handleInbox(waitingSeconds: 0.05)
            }
            pause(consumer)
        }
        if isPaused, window.mayResume { resume(consumer) }
        if !window.isFull { fullSince = nil }
        let patience: Int32 = isPaused || isCareful ? 20 : 100
        for number in 0..<PipelineLimits.recordsPerTurn {
            var polled = consumer.poll(timeoutMilliseconds: 0)
            if polled == nil, number == 0 {
                feed(consumer)
                polled = consumer.poll(timeoutMilliseconds: patience)
            }
            guard let polled else { return }
            switch polled {
            case .record(let record):
                CrashPoint.polled.reached()
                isFed = true
                unreadable.progressed(record.topicPartition)
                noteFetched(record.topicPartition)
                take(record)
                // A late partition's first.
                if isPaused { pause(consumer) }
                holdBack(record.topicPartition, consumer)
            case .partitionEnd(let partition): noteFetched(partition)
            case .trouble(let error): if !noteUnreadable(error) { note(error) }
            }
            if window.isFull || fatal != nil { return }
        }
    }

    /// Stops the fetching of every partition that has begun to fetch. One that was just assigned is paused when its
    /// first record shows that it fetches: librdkafka drops the order to start fetching, for good, where a pause
    /// overtakes it.
    private func pause(_ consumer: KafkaConsumer) {
        let fetching = partitions.filter { $0.value.isFetching && !$0.value.isPaused && !$0.value.isHeldBack }
        do throws(KafkaError) {
            try consumer.pause(Array(fetching.keys))
            for partition in fetching.values { partition.isPaused = true }
            notePaused(true)
        } catch {
            logger.warning("partitions could not be paused", [.error: "\(error.name)"])
        }
    }

    private func resume(_ consumer: KafkaConsumer) {
        notePaused(false)
        isFed = true
        for partition in partitions.values {
            while !window.isFull, let record = partition.deferred.popFirst() { take(record) }
        }
        let resumable = partitions.filter { $0.value.isPaused && $0.value.deferred.isEmpty }
        do throws(KafkaError) {
            try consumer.resume(Array(resumable.keys))
            for partition in resumable.values { partition.isPaused = false }
        } catch {
            logger.warning("partitions could not be resumed", [.error: "\(error.name)"])
        }
        // More partitions than places: the rest waits for the next time.
        if partitions.values.contains(where: \.isPaused) { notePaused(true) }
    }

    private func notePaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        worker.metrics.all.paused.set(isPaused)
    }

    private func note(_ error: KafkaError) {
        if error.isFatal { fatal = error }
        noteRefused(error)
        logger.warning(
            "Kafka reports trouble",
            [.error: "\(error.name)", .reason: "\(ConsumerTrouble.words(error) ?? error.message)"])
    }

    private func everySecond(_ consumer: KafkaConsumer) {
        let now = WallClock.monotonicSeconds
        if now >= nextBeat {
            nextBeat = now + 1
            health.beat(.consumerLoop)
            reportLag(consumer)
            reportInFlight(now)
            watchReading(consumer)
            retryRefused(consumer)
            // It reports the error once, and not always by `poll`.
            fatal = fatal ?? consumer.fatalError
        }
        if now >= nextCommit {
            nextCommit = now + PipelineLimits.commitSeconds
            commitInBackground(consumer)
        } else if mayCommit {
            sendCommits(consumer)
        }
    }

    private func reportLag(_ consumer: KafkaConsumer) {
        for (partition, state) in partitions {
            guard let marks = consumer.cachedWatermarks(partition), marks.high >= 0 else { continue }
            let next = state.progress.position ?? state.progress.committed?.offset ?? max(marks.low, 0)
            gauges.set(
                lag: marks.high - next, end: marks.high, topic: partition.topic, partition: partition.partition,
                now: WallClock.now.milliseconds)
        }
    }

    private func reportInFlight(_ now: Double) {
        worker.metrics.all.inFlight.set(window.records)
        worker.metrics.all.inFlightBytes.set(window.bytes)
        let oldest = partitions.values.lazy.flatMap(\.inFlight.values).map(\.since).min()
        worker.metrics.all.oldestInFlightSeconds.set(oldest.map { now - $0 } ?? 0)
    }
}
