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
    private let worker: NotificationWorker
    private let offsets: NotificationOffsets
    private let unreadable: UnreadableBatchWatch
    private let health: Health
    private let logger: Logger
    private let isStopping = Atomic(false)
    private var fatal: KafkaError?
    /// When each error was last warned of, in monotonic seconds.
    private var warned: [String: Double] = [:]
    private var nextLook = 0.0

    init(worker: NotificationWorker, checkpoints: any OffsetCheckpoints, health: Health, logger: Logger) {
        self.worker = worker
        self.health = health
        self.logger = logger
        offsets = NotificationOffsets(
            checkpointer: OffsetCheckpointer(
                store: checkpoints, topic: worker.source.topic, failures: health.failures),
            metrics: worker.metrics.all, logger: logger)
        unreadable = UnreadableBatchWatch(
            consumerProperties: worker.source.consumerProperties, voice: worker.publisher.voice, logger: logger)
    }

    /// Any thread, any number of times.
    func stop() { isStopping.store(true, ordering: .sequentiallyConsistent) }

    private var isStopped: Bool { isStopping.load(ordering: .sequentiallyConsistent) }

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
                assigned: { [unowned self, unowned consumer] in offsets.assigned($0, consumer) },
                revoked: { [unowned self, unowned consumer] in revoked($0, lost: $1, consumer) }))
        offsets.begin()
        fatal = nil
        while !isStopped, !mustEnd {
            health.beat(.notificationLoop)
            let batch = poll(consumer)
            if mustEnd { break }
            if !batch.isEmpty { work(on: batch, consumer) }
            offsets.lookAtCheckpoints(consumer)
            everySecond(consumer)
        }
        if isStopped, !offsets.isCommitUnanswered { offsets.commit(offsets.all, consumer) }
        // Closing calls the revoke handler, which has nothing left to commit.
        forget(offsets.all, lost: fatal != nil)
        // It waits for a commit that is still under way, for as long as a session. Nobody hears us leave then anyway.
        if offsets.isCommitUnanswered { consumer.abandonInBackground() } else { consumer.close() }
    }

    private var mustEnd: Bool { offsets.mustRejoin || fatal != nil }

    /// Within `poll` or `close`: the last place to commit.
    private func revoked(_ partitions: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        if !lost { offsets.commit(partitions, consumer) }
        forget(partitions, lost: lost)
    }

    private func forget(_ partitions: [TopicPartition], lost: Bool) {
        offsets.forget(partitions, lost: lost)
        for partition in partitions { unreadable.forget(partition) }
    }

    private func everySecond(_ consumer: KafkaConsumer) {
        guard WallClock.monotonicSeconds >= nextLook else { return }
        nextLook = WallClock.monotonicSeconds + 1
        offsets.reportLag(consumer)
        unreadable.look(at: offsets.readings, consumer) { batch, partition in stepOver(batch, of: partition, consumer) }
        fatal = fatal ?? consumer.fatalError
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
            case .trouble(let error): if !unreadable.failed(error, next: offsets.next(of:)) { failed(error) }
            }
        }
        // A rebalance within `poll` may have taken some away.
        return batch.filter { offsets.isAssigned($0.topicPartition) }
    }

    /// A topic that is not there is not read: notifications are optional. librdkafka looks for it now and then.
    private func failed(_ error: KafkaError) {
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
            if !isStopped { offsets.rejoin() }
            return
        }
        offsets.finished(batch, decidedIn: effects.history)
        offsets.commit(offsets.all, consumer)
    }

    /// Blocks until all of the batch is durable. Nil where that did not come about in time.
    private func done(_ batch: [ConsumerRecord]) -> BatchAttempt.Effects? {
        let deadline = WallClock.monotonicSeconds + NotificationLimits.batchSeconds
        while !isStopped {
            switch attempt(until: deadline, { [worker] in try await worker.work(on: batch) }) {
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

    /// - Parameter body: returns the history of the database that holds its effects, nil where it has none there.
    private func attempt(
        until deadline: Double, _ body: @escaping @Sendable () async throws -> DatabaseHistory?
    ) -> Result<BatchAttempt.Effects, any Error> {
        let attempt = BatchAttempt()
        Task {
            do {
                attempt.end(.success(BatchAttempt.Effects(history: try await body())))
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

    /// Blocks until the dead letter is acknowledged. False where that did not come about in time: the group is left
    /// then, and joined again.
    private func stepOver(
        _ batch: UnreadableBatches.Found, of partition: TopicPartition, _ consumer: KafkaConsumer
    ) -> Bool {
        let record = ConsumerRecord(topicPartition: partition, offset: batch.first)
        let deadline = WallClock.monotonicSeconds + NotificationLimits.batchSeconds
        let result = attempt(until: deadline) { [worker] in
            try await worker.bury(record, batch.letter)
            return nil
        }
        guard case .success = result else {
            if !isStopped { offsets.rejoin() }
            return false
        }
        offsets.steppedOver(batch, of: partition)
        guard !offsets.mustRejoin else { return false }
        offsets.commit([partition], consumer)
        return true
    }
}
