import Foundation
import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Takes the records of one batched topic from Kafka, and commits offsets once the records' effects are durable. One
/// thread owns the consumer and this object's state; other threads may call only `stop`.
///
/// The loop is simpler than `ConsumerLoop`, because these records are few and no player waits for them. It finishes one
/// batch before it polls again. If it cannot finish a batch in time, because the database or the broker is away, it
/// leaves the group and joins again later. So no other member of the group waits for this loop.
///
/// `@unchecked Sendable` is sound: only the loop's thread uses the state, except the atomic `isStopping`.
final class BatchedTopicLoop: @unchecked Sendable {
    private let worker: any BatchedTopicWorker
    let topic: BatchedTopic
    private let offsets: BatchedTopicOffsets
    private let unreadable: UnreadableBatchWatch
    private let turn: IsolationTurn
    let losses: LeaseGate?
    let health: Health
    let logger: Logger
    private let isStopping = Atomic(false)
    private var fatal: KafkaError?
    private var said = RepeatedWords()
    private var hasToldMissing = false
    private var nextLook = 0.0

    /// - Parameter losses: the gate that opens when the worker knows which decisions the database lost. The loop joins
    ///   its group only while this gate is open. Nil for a loop that never waits.
    init(
        worker: any BatchedTopicWorker, checkpoints: any OffsetCheckpoints, turn: IsolationTurn,
        behind losses: LeaseGate? = nil, health: Health, logger: Logger
    ) {
        self.worker = worker
        self.turn = turn
        self.losses = losses
        topic = worker.topic
        self.health = health
        self.logger = logger
        offsets = BatchedTopicOffsets(
            checkpointer: OffsetCheckpointer(store: checkpoints, topic: topic.name, failures: health.failures),
            metrics: worker.metrics.all, logger: logger)
        unreadable = UnreadableBatchWatch(
            consumerProperties: topic.consumerProperties, voice: worker.publisher.voice, logger: logger)
    }

    /// Makes `run` return. Any thread may call it, more than once.
    func stop() { isStopping.store(true, ordering: .sequentiallyConsistent) }

    var isStopped: Bool { isStopping.load(ordering: .sequentiallyConsistent) }

    func run() {
        while !isStopped {
            waitForLosses()
            guard !isStopped else { break }
            do throws(KafkaError) { try consume() } catch {
                warn("the worker cannot read a topic", error.name)
                health.failures.report(error, of: topic.failingPart)
            }
            let end = WallClock.monotonicSeconds + BatchedTopicLimits.pauseSeconds
            rest { WallClock.monotonicSeconds < end }
        }
        health.retire(topic.part)
    }

    /// Runs one consumer until the loop stops, must join the group again, or the consumer has a fatal error.
    private func consume() throws(KafkaError) {
        let consumer = try KafkaConsumer(
            properties: topic.consumerProperties,
            log: KafkaLog.forward(to: logger, folding: worker.publisher.voice))
        try consumer.subscribe(
            [topic.name],
            rebalance: KafkaConsumer.Rebalance(
                assigned: { [unowned self, unowned consumer] in offsets.assigned($0, consumer) { isStopped } },
                revoked: { [unowned self, unowned consumer] in revoked($0, lost: $1, consumer) }))
        offsets.begin()
        fatal = nil
        while !isStopped, !mustEnd {
            health.beat(topic.part)
            let batch = poll(consumer)
            if mustEnd { break }
            if batch.isEmpty { offsets.noRecords(consumer) } else { work(on: batch, consumer) }
            offsets.lookAtCheckpoints(consumer)
            everySecond(consumer)
        }
        offsets.leave(offsets.all)
        if isStopped, !offsets.isCommitUnanswered { offsets.commit(offsets.all, consumer) }
        forget(offsets.all, lost: fatal != nil)
        // If the broker did not answer the commit, it probably will not answer the departure either.
        consumer.close(withinSeconds: offsets.isCommitUnanswered ? 0 : PipelineLimits.closeSeconds)
    }

    private var mustEnd: Bool { offsets.mustRejoin || fatal != nil }

    /// Commits partitions that are being revoked. `poll` calls this. The worker owns the partitions until the call
    /// returns, so this is its last chance to commit.
    private func revoked(_ partitions: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        offsets.leave(partitions)
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
        var timeout = BatchedTopicLimits.pollMilliseconds
        while batch.count < BatchedTopicLimits.batch, let polled = consumer.poll(timeoutMilliseconds: timeout) {
            timeout = 0
            switch polled {
            case .record(let record):
                unreadable.progressed(record.topicPartition)
                offsets.came(record, consumer)
                batch.append(record)
            case .partitionEnd(let partition, let next): offsets.ended(partition, at: next, consumer)
            case .trouble(let error): if !unreadable.failed(error, next: offsets.next(of:)) { failed(error) }
            }
        }
        // A rebalance within `poll` may have revoked partitions of some of these records.
        return batch.filter { offsets.isAssigned($0.topicPartition) }
    }

    /// Handles an error of `poll`. Batched topics are optional, so a missing topic is no failure. librdkafka looks for
    /// the topic again from time to time.
    private func failed(_ error: KafkaError) {
        if error.isFatal { fatal = error }
        guard error.code == KafkaError.Code.unknownTopicOrPartition else {
            return warn("Kafka reports an error with a topic", error.name)
        }
        if !hasToldMissing {
            hasToldMissing = true
            logger.info(
                "a topic does not exist: the worker reads it once you create it", [.topic: "\(topic.name)"])
        }
    }

    private func warn(_ message: StaticString, _ error: String) {
        guard let leftOut = said.leftOut(of: "\(message) \(error)", now: WallClock.monotonicSeconds) else { return }
        logger.warning(message, [.topic: "\(topic.name)", .error: "\(error)", .count: .stringConvertible(leftOut + 1)])
    }

    private var member: IsolationTurn.Member { .topic(topic.name) }

    /// Works on the batch until its records are done, or until the loop must leave the group.
    private func work(on batch: [ConsumerRecord], _ consumer: KafkaConsumer) {
        // This commit counts this owner's start in the crash history, which the next owner reads if a record kills this
        // process.
        offsets.commit(offsets.all, consumer)
        var pending = batch
        while !pending.isEmpty, !isStopped, !mustEnd {
            let isIsolating = offsets.updateIsolation()
            guard waitForTurn(isIsolating: isIsolating) else { break }
            let done = work(on: offsets.portion(of: pending, consumer), consumer)
            // The loop commits before other members begin, so that a later death does not count against these records.
            if !done.isEmpty { offsets.commit(offsets.all, consumer) }
            if isIsolating { turn.pass(member) } else { turn.ended(member) }
            if done.isEmpty { break }
            pending.removeAll { record in
                done.contains { $0.topicPartition == record.topicPartition && $0.offset == record.offset }
            }
        }
        if !pending.isEmpty, !isStopped { offsets.rejoin() }
        _ = offsets.updateIsolation()
    }

    /// Waits until this loop may isolate a record, or may work beside the other members of the `IsolationTurn`. Returns
    /// false after `turnSeconds`, or if the loop stops.
    private func waitForTurn(isIsolating: Bool) -> Bool {
        let deadline = WallClock.monotonicSeconds + BatchedTopicLimits.turnSeconds
        while !(isIsolating ? turn.take(member) : turn.begin(member)) {
            guard !isStopped, WallClock.monotonicSeconds < deadline else {
                turn.pass(member)
                return false
            }
            health.beat(topic.part)
            Thread.sleep(forTimeInterval: 0.02)
        }
        return true
    }

    /// Works on the portion. Returns the portion's records if they are done, otherwise an empty array.
    private func work(on portion: BatchedTopicOffsets.Portion, _ consumer: KafkaConsumer) -> [ConsumerRecord] {
        switch portion {
        case .notNow: return []
        case .together(let records):
            guard let effects = done(records) else { return [] }
            offsets.finished(records, decidedIn: effects.history)
            return records
        case .isolated(let record):
            let effects = done([record]) { self.offsets.accuse(isAtWork: $0, consumer) }
            guard let effects else {
                offsets.acquit(record.topicPartition, consumer)
                return []
            }
            offsets.finished([record], decidedIn: effects.history)
            offsets.finishedIsolated(record.topicPartition)
            return [record]
        case .deadLetter(let record, let deaths):
            guard set(aside: record, deaths: deaths) else { return [] }
            offsets.finished([record], decidedIn: nil)
            offsets.finishedIsolated(record.topicPartition)
            return [record]
        }
    }

    /// Publishes the record as a dead letter, and blocks until the broker has acknowledged it. Returns false if that
    /// fails or takes too long, or if the loop stops.
    private func set(aside record: ConsumerRecord, deaths: Int) -> Bool {
        logger.error(
            "a record crashes the process: it becomes a dead letter",
            [
                .topic: "\(topic.name)", .partition: .stringConvertible(record.topicPartition.partition),
                .offset: .stringConvertible(record.offset), .count: .stringConvertible(deaths),
            ])
        let letter = DeadLetter(
            reason: .crashed,
            detail: "the process died \(deaths) times while only this record was in flight, "
                + "after \(CrashHistory.concurrentStarts) starts without progress")
        let deadline = WallClock.monotonicSeconds + BatchedTopicLimits.batchSeconds
        let result = attempt(until: deadline) { [worker] in
            try await worker.bury(record, letter)
            return nil
        }
        if case .success = result { return true }
        return false
    }

    /// Works on the batch, and blocks until its effects are durable. Returns nil if that takes too long or the loop
    /// stops.
    private func done(_ batch: [ConsumerRecord], accuse: ((Bool) -> Bool)? = nil) -> BatchAttempt.Effects? {
        let deadline = WallClock.monotonicSeconds + BatchedTopicLimits.batchSeconds
        while !isStopped {
            switch attempt(until: deadline, accuse: accuse, { [worker] in try await worker.work(on: batch) }) {
            case .success(let effects):
                health.failures.recovered(topic.failingPart)
                return effects
            case .failure(let error):
                health.failures.report(error, of: topic.failingPart)
                if error is Abandoned || WallClock.monotonicSeconds >= deadline {
                    warn("the worker could not store a topic's records, and reads them again", "\(type(of: error))")
                    return nil
                }
                Thread.sleep(forTimeInterval: BatchedTopicLimits.retrySeconds)
            }
        }
        return nil
    }

    /// Calls `BatchAttempt.run`, and reports to health while it blocks.
    /// - Parameter body: as in `BatchAttempt.run`.
    private func attempt(
        until deadline: Double, accuse: ((Bool) -> Bool)? = nil,
        _ body: @escaping @Sendable () async throws -> DatabaseHistory?
    ) -> Result<BatchAttempt.Effects, any Error> {
        let mayWait = {
            self.health.beat(self.topic.part)
            return !self.isStopped
        }
        return BatchAttempt.run(until: deadline, mayWait: mayWait, accuse: accuse, body)
    }

    /// Publishes the unreadable batch's dead letter, and blocks until the broker has acknowledged it. Returns false if
    /// that fails or takes too long. The loop then leaves the group and joins it again.
    private func stepOver(
        _ batch: UnreadableBatches.Found, of partition: TopicPartition, _ consumer: KafkaConsumer
    ) -> Bool {
        let record = ConsumerRecord(topicPartition: partition, offset: batch.first)
        let deadline = WallClock.monotonicSeconds + BatchedTopicLimits.batchSeconds
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
