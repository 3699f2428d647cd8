import Foundation
import Fulfillment
import Kafka
import Logging
import Operations
import Synchronization

/// Takes Apple's notifications from Kafka, a batch at a time, and moves the offsets behind what is durable. One thread
/// owns the consumer and everything in here; only `stop` may be called from elsewhere.
///
/// Far simpler than `ConsumerLoop`, for notifications are few and wait for nobody: a batch is done before the next is
/// polled. Where one cannot be done for a while (the database or the broker is away), the group is left, so that
/// nobody waits for this member, and joined again.
///
/// `@unchecked Sendable`: all but `isStopping`, which is atomic, belongs to the loop's thread.
final class NotificationLoop: @unchecked Sendable {
    let worker: NotificationWorker
    let checkpointer: OffsetCheckpointer
    let health: Health
    let logger: Logger
    private let isStopping = Atomic(false)
    var partitions: [TopicPartition: NotificationPartition] = [:]
    /// The group is to be left and joined again.
    var mustRejoin = false
    /// The broker did not answer the last commit in time.
    var isCommitUnanswered = false
    private var fatal: KafkaError?
    private var warned: [String: Double] = [:]
    private var nextLag = 0.0
    var nextLook = 0.0
    var gauges: PartitionGauges
    var unreadable = UnreadableBatches()
    let examination: BatchExamination

    init(worker: NotificationWorker, checkpoints: any OffsetCheckpoints, health: Health, logger: Logger) {
        self.worker = worker
        checkpointer = OffsetCheckpointer(
            store: checkpoints, topic: worker.source.topic, failures: health.failures)
        self.health = health
        self.logger = logger
        gauges = PartitionGauges(lag: worker.metrics.all.consumerLag)
        examination = BatchExamination(
            probe: BatchProbe(
                properties: worker.source.consumerProperties,
                log: KafkaLog.forward(to: logger, folding: worker.publisher.voice)))
    }

    /// Any thread, any number of times.
    func stop() { isStopping.store(true, ordering: .sequentiallyConsistent) }

    var isStopped: Bool { isStopping.load(ordering: .sequentiallyConsistent) }

    /// Until `stop`.
    func run() {
        while !isStopped {
            do throws(KafkaError) { try consume() } catch {
                warn("notifications cannot be read", error.name)
                health.failures.report(error, of: .notifications)
            }
            let end = WallClock.monotonicSeconds + NotificationLimits.pauseSeconds
            while !isStopped, WallClock.monotonicSeconds < end {
                health.beat(.notificationLoop)
                Thread.sleep(forTimeInterval: 0.1)
            }
        }
        health.retire(.notificationLoop)
    }

    /// One consumer's life: until the loop is stopped, a batch cannot be done, or the consumer is beyond repair.
    private func consume() throws(KafkaError) {
        let consumer = try KafkaConsumer(
            properties: worker.source.consumerProperties,
            log: KafkaLog.forward(to: logger, folding: worker.publisher.voice))
        try consumer.subscribe(
            [worker.source.topic],
            rebalance: KafkaConsumer.Rebalance(
                assigned: { [unowned self, unowned consumer] in self.assigned($0, consumer) },
                revoked: { [unowned self, unowned consumer] in self.revoked($0, lost: $1, consumer) }))
        (mustRejoin, fatal, isCommitUnanswered) = (false, nil, false)
        while !isStopped, !mustRejoin, fatal == nil {
            health.beat(.notificationLoop)
            let batch = poll(consumer)
            if mustRejoin || fatal != nil { break }
            if !batch.isEmpty { work(on: batch, consumer) }
            lookAtCheckpoints(consumer)
            if WallClock.monotonicSeconds >= nextLag {
                nextLag = WallClock.monotonicSeconds + 1
                reportLag(consumer)
                watchReading(consumer)
                fatal = fatal ?? consumer.fatalError
            }
        }
        if isStopped, !isCommitUnanswered { commit(consumer, Array(partitions.keys)) }
        // Closing calls the revoke handler, which has nothing left to commit.
        forget(Array(partitions.keys), lost: fatal != nil)
        // It waits for a commit that is still under way, for as long as a session. Nobody hears us leave then anyway.
        if isCommitUnanswered { consumer.abandonInBackground() } else { consumer.close() }
    }

    private func poll(_ consumer: KafkaConsumer) -> [ConsumerRecord] {
        var batch: [ConsumerRecord] = []
        var timeout: Int32 = 200
        while batch.count < NotificationLimits.batch, let polled = consumer.poll(timeoutMilliseconds: timeout) {
            timeout = 0
            switch polled {
            case .record(let record):
                unreadable.progressed(record.topicPartition)
                batch.append(record)
            case .partitionEnd: break
            case .trouble(let error): if !noteUnreadable(error) { note(error) }
            }
        }
        // A rebalance within `poll` may have taken some away.
        return batch.filter { partitions[$0.topicPartition] != nil }
    }

    /// A topic that is not there is not read: notifications are optional. librdkafka looks for it now and then.
    private func note(_ error: KafkaError) {
        if error.isFatal { fatal = error }
        guard error.code == KafkaError.Code.unknownTopicOrPartition else {
            return warn("Kafka reports trouble with the notifications", error.name)
        }
        if warned.updateValue(0, forKey: error.name) == nil {
            logger.info("there is no topic of notifications: no refund is heard of", [.topic: "\(worker.source.topic)"])
        }
    }

    private func warn(_ message: StaticString, _ error: String) {
        let now = WallClock.monotonicSeconds
        if let last = warned[error], now - last < NotificationLimits.warningSeconds { return }
        warned[error] = now
        logger.warning(message, [.error: "\(error)"])
    }

    private func work(on batch: [ConsumerRecord], _ consumer: KafkaConsumer) {
        guard let effects = done(batch) else {
            if !isStopped { mustRejoin = true }
            return
        }
        finished(batch, decidedIn: effects.history)
        commit(consumer, Array(partitions.keys))
    }

    /// Blocks until all of the batch is durable. Nil where that did not come about in time.
    private func done(_ batch: [ConsumerRecord]) -> BatchAttempt.Effects? {
        let deadline = WallClock.monotonicSeconds + NotificationLimits.batchSeconds
        while !isStopped {
            switch attempt(batch, until: deadline) {
            case .success(let effects):
                health.failures.recovered(.notifications)
                return effects
            case .failure(let error):
                health.failures.report(error, of: .notifications)
                if error is Abandoned || WallClock.monotonicSeconds >= deadline {
                    warn("notifications cannot be entered", "\(type(of: error))")
                    return nil
                }
                Thread.sleep(forTimeInterval: NotificationLimits.retrySeconds)
            }
        }
        return nil
    }

    private func attempt(_ batch: [ConsumerRecord], until deadline: Double) -> Result<BatchAttempt.Effects, any Error> {
        let attempt = BatchAttempt()
        Task { [worker] in
            do {
                attempt.end(.success(BatchAttempt.Effects(history: try await worker.work(on: batch))))
            } catch {
                attempt.end(.failure(error))
            }
        }
        // Where it takes longer it goes on by itself, which harms nothing: all of it may be done twice.
        while true {
            if let result = attempt.result(waitingSeconds: 0.2) { return result }
            health.beat(.notificationLoop)
            if isStopped || WallClock.monotonicSeconds >= deadline { return .failure(Abandoned()) }
        }
    }

    private func reportLag(_ consumer: KafkaConsumer) {
        for (partition, state) in partitions {
            guard let marks = consumer.cachedWatermarks(partition), marks.high >= 0 else { continue }
            let next = state.progress.position ?? max(marks.low, 0)
            gauges.set(
                lag: marks.high - next, end: marks.high, topic: partition.topic, partition: partition.partition,
                now: WallClock.now.milliseconds)
        }
    }
}
