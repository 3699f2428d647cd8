import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Finds batches that librdkafka cannot read, and skips them. Each consumer loop has its own watch, and uses it on its
/// own thread.
final class UnreadableBatchWatch {
    /// The read position of a partition.
    struct Reading {
        /// The offset of the next record to read; nil if unknown.
        let next: Int64?
        /// True if this worker accepts records of the partition now.
        let mayCome: Bool
    }

    /// The milliseconds that a seek may take.
    private static let seekMilliseconds: Int32 = 2000

    private var batches = UnreadableBatches()
    private let examination: BatchExamination
    private let logger: Logger

    init(consumerProperties: KafkaProperties, voice: KafkaVoice, logger: Logger) {
        self.logger = logger
        examination = BatchExamination(
            probe: BatchProbe(properties: consumerProperties, log: KafkaLog.forward(to: logger, folding: voice)))
    }

    /// Notes that a record of the partition came.
    func progressed(_ partition: TopicPartition) { batches.progressed(partition) }

    func forget(_ partition: TopicPartition) { batches.forget(partition) }

    func forgetAll() { batches.forgetAll() }

    /// Notes an error, and starts an examination after repeated errors at one offset. Returns whether the error is
    /// about an unreadable batch.
    /// - Parameter next: returns the offset of a partition's next record; nil if unknown.
    func failed(_ error: KafkaError, next: (TopicPartition) -> Int64?) -> Bool {
        guard error.isUnreadableBatch, let place = error.place else { return false }
        if let suspicion = batches.failed(place, next: next(place.topicPartition)) { examine(suspicion, error.message) }
        return true
    }

    /// Handles the result of an examination, and looks for partitions that deliver no record although the log has more.
    /// Call it about every second.
    /// - Parameters:
    ///   - readings: the read positions of the assigned partitions.
    ///   - stepOver: makes the batch a dead letter. If it returns false, the worker does not skip the batch.
    func look(
        at readings: [TopicPartition: Reading], _ consumer: KafkaConsumer,
        stepOver: (UnreadableBatches.Found, TopicPartition) -> Bool
    ) {
        if let (suspicion, finding) = examination.take() {
            batches.examined(suspicion)
            // If a record came meanwhile, or if the partition was revoked, the result is ignored.
            if let reading = readings[suspicion.partition], reading.next ?? suspicion.offset <= suspicion.offset {
                goOn(suspicion, finding, consumer, stepOver: stepOver)
            }
        }
        for (partition, reading) in readings {
            let suspicion = batches.look(
                at: partition, next: reading.next, end: consumer.cachedWatermarks(partition)?.high,
                mayCome: reading.mayCome, now: WallClock.monotonicSeconds)
            if let suspicion { examine(suspicion, "the partition has records, but Kafka delivers none") }
        }
    }

    private func examine(_ suspicion: UnreadableBatches.Suspicion, _ words: String) {
        logger.warning(
            "a partition stalled: the worker looks for a batch that it cannot read",
            [
                .topic: "\(suspicion.partition.topic)",
                .partition: .stringConvertible(suspicion.partition.partition),
                .offset: .stringConvertible(suspicion.offset), .error: "\(words)",
            ])
        examination.begin(suspicion)
    }

    private func goOn(
        _ suspicion: UnreadableBatches.Suspicion, _ finding: Result<BatchProbe.Finding, KafkaError>,
        _ consumer: KafkaConsumer, stepOver: (UnreadableBatches.Found, TopicPartition) -> Bool
    ) {
        let partition = suspicion.partition
        do throws(KafkaError) {
            switch try finding.get() {
            case .readable:
                // The seek makes librdkafka fetch the offset again.
                try consumer.seek(partition, to: suspicion.offset, timeoutMilliseconds: Self.seekMilliseconds)
            case .unreadable(let offsets, let words):
                let found = UnreadableBatches.Found(first: offsets.lowerBound, last: offsets.upperBound, words: words)
                tell(of: found, in: partition)
                guard stepOver(found, partition) else { return }
                try consumer.seek(partition, to: found.last + 1, timeoutMilliseconds: Self.seekMilliseconds)
            }
        } catch {
            logger.warning(
                "a partition stalls: the worker could not examine the partition's next batch, or could not seek",
                [.topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition), .error: "\(error)"])
        }
    }

    private func tell(of batch: UnreadableBatches.Found, in partition: TopicPartition) {
        logger.error(
            "the worker skips a batch that it cannot read",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(batch.first), .count: .stringConvertible(batch.last - batch.first + 1),
                .error: "\(batch.words ?? "librdkafka names no cause")",
            ])
    }
}

extension UnreadableBatches.Found {
    var letter: DeadLetter {
        let words = words ?? "librdkafka names no cause"
        return DeadLetter(
            reason: .unreadableBatch, detail: "offsets \(first) to \(last) cannot be read: \(words)", lastOffset: last)
    }
}
