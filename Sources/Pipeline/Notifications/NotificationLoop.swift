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
    let offsets: (any DurableOffsets)?
    let health: Health
    let logger: Logger
    private let isStopping = Atomic(false)
    /// The next offset of each assigned partition that gave anything, and whether it is committed.
    var done: [TopicPartition: Int64] = [:]
    var committed: [TopicPartition: Int64] = [:]
    var assigned: Set<TopicPartition> = []
    /// Of the database that the assigned partitions' offsets were read from; nil where it was out of reach.
    var history: DatabaseHistory?
    /// The group is to be left and joined again.
    var mustRejoin = false
    private var fatal: KafkaError?
    private var warned: [String: Double] = [:]
    private var nextLag = 0.0
    var unreadable = UnreadableBatches()
    let examination: BatchExamination
    var nextCheck = 0.0

    init(worker: NotificationWorker, offsets: (any DurableOffsets)?, health: Health, logger: Logger) {
        self.worker = worker
        self.offsets = offsets
        self.health = health
        self.logger = logger
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
        (mustRejoin, fatal) = (false, nil)
        nextCheck = WallClock.monotonicSeconds + PipelineLimits.historyCheckSeconds
        while !isStopped, !mustRejoin, fatal == nil {
            health.beat(.notificationLoop)
            let batch = poll(consumer)
            if mustRejoin || fatal != nil { break }
            if !batch.isEmpty { work(on: batch, consumer) }
            checkHistory()
            if WallClock.monotonicSeconds >= nextLag {
                nextLag = WallClock.monotonicSeconds + 1
                reportLag(consumer)
                watchReading(consumer)
                fatal = fatal ?? consumer.fatalError
            }
        }
        consumer.close()
        forget(Array(assigned))
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
        return batch.filter { assigned.contains($0.topicPartition) }
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
        guard isDone(batch) else {
            if !isStopped { mustRejoin = true }
            return
        }
        for record in batch { done[record.topicPartition] = record.offset + 1 }
        commit(consumer, Array(assigned))
    }

    /// Blocks until all of the batch is durable. False where that did not come about in time.
    private func isDone(_ batch: [ConsumerRecord]) -> Bool {
        let deadline = WallClock.monotonicSeconds + NotificationLimits.batchSeconds
        while !isStopped {
            switch attempt(batch, until: deadline) {
            case .success: return true
            case .failure(let error):
                logger.debug("notifications could not be entered yet", [.error: "\(type(of: error))"])
                if error is Abandoned || WallClock.monotonicSeconds >= deadline {
                    warn("notifications cannot be entered", "\(type(of: error))")
                    return false
                }
                Thread.sleep(forTimeInterval: NotificationLimits.retrySeconds)
            }
        }
        return false
    }

    private func attempt(_ batch: [ConsumerRecord], until deadline: Double) -> Result<Void, any Error> {
        let attempt = BatchAttempt()
        Task { [worker] in
            do {
                try await worker.work(on: batch)
                attempt.end(.success(()))
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
        for partition in assigned {
            guard let marks = consumer.cachedWatermarks(partition), marks.high >= 0 else { continue }
            let next = done[partition] ?? committed[partition] ?? max(marks.low, 0)
            worker.metrics.all.consumerLag.with(partition.topic, "\(partition.partition)")
                .set(Double(max(0, marks.high - next)))
        }
    }
}
