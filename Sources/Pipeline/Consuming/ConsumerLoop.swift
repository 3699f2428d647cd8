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
    /// Partitions assigned within the last poll, whose fetching is to be paused until they are prepared.
    var newlyAssigned: [TopicPartition] = []
    /// Partitions whose fetching may begin.
    var toResume: [TopicPartition] = []
    private var nextCommit = 0.0
    private var nextBeat = 0.0

    init(
        settings: PipelineSettings, worker: SubmissionWorker, unpublished: any UnpublishedEvents, inbox: Inbox,
        health: Health, logger: Logger
    ) {
        self.settings = settings
        self.worker = worker
        self.unpublished = unpublished
        self.inbox = inbox
        self.health = health
        self.logger = logger
        decoder = SubmissionDecoder(signature: SubmissionSignature(keys: settings.signingKeys))
        window = IntakeWindow(maximumRecords: settings.maximumInFlight)
    }

    /// Runs until the inbox says stop: then finishes what is in flight, commits, and leaves the group.
    func run() throws(KafkaError) {
        let consumer = try KafkaConsumer(
            properties: settings.consumerProperties, log: KafkaLog.forward(to: logger))
        consumer.onCommit = { [unowned self] result in self.noteCommit(result) }
        try consumer.subscribe(
            [settings.submissionsTopic],
            rebalance: KafkaConsumer.Rebalance(
                assigned: { [unowned self, unowned consumer] in self.assigned($0, consumer) },
                revoked: { [unowned self, unowned consumer] in self.revoked($0, lost: $1, consumer) }))
        while !isStopping {
            handleInbox(waitingSeconds: 0)
            everySecond(consumer)
            resumePrepared(consumer)
            takeRecords(consumer)
        }
        stop(consumer)
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
            setPaused(true, consumer)
        }
        if isPaused, window.mayResume { setPaused(false, consumer) }
        if !window.isFull { fullSince = nil }
        var timeout: Int32 = isPaused ? 20 : 100
        for _ in 0..<PipelineLimits.recordsPerTurn {
            let polled = consumer.poll(timeoutMilliseconds: timeout)
            pauseNewlyAssigned(consumer)
            guard let polled else { return }
            switch polled {
            case .record(let record):
                CrashPoint.polled.reached()
                admit(record)
            case .partitionEnd: break
            case .trouble(let error): note(error)
            }
            if window.isFull { return }
            timeout = 0
        }
    }

    private func setPaused(_ pause: Bool, _ consumer: KafkaConsumer) {
        let prepared = partitions.filter { $0.value.preparation != nil }.map(\.key)
        do throws(KafkaError) {
            if pause { try consumer.pause(prepared) } else { try consumer.resume(prepared) }
            isPaused = pause
            worker.metrics.all.paused.set(pause)
        } catch {
            logger.warning("partitions could not be paused or resumed", [.error: "\(error.name)"])
        }
    }

    private func note(_ error: KafkaError) {
        logger.log(level: error.isFatal ? .error : .warning, "Kafka reports trouble", [.error: "\(error.name)"])
    }

    private func everySecond(_ consumer: KafkaConsumer) {
        let now = WallClock.monotonicSeconds
        if now >= nextBeat {
            nextBeat = now + 1
            health.beat(.consumerLoop)
            reportLag(consumer)
        }
        if now >= nextCommit {
            nextCommit = now + PipelineLimits.commitSeconds
            commitInBackground(consumer)
        }
    }

    private func reportLag(_ consumer: KafkaConsumer) {
        for (partition, state) in partitions {
            guard let marks = consumer.cachedWatermarks(partition), marks.high >= 0 else { continue }
            let next = state.tracker.committable ?? state.committed ?? max(marks.low, 0)
            worker.metrics.all.consumerLag.with(partition.topic, "\(partition.partition)").set(Double(max(0, marks.high - next)))
        }
        worker.metrics.all.inFlight.set(window.records)
        worker.metrics.all.inFlightBytes.set(window.bytes)
    }
}
