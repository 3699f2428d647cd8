import Kafka
import Logging
import Operations

/// Finds records that Kafka deleted before the worker read them, for example by retention while the worker lags.
/// librdkafka then continues at the earliest record, and `poll` shows only a gap in the offsets. A gap alone proves no
/// deletion, because compaction and transaction markers cause gaps too.
enum DeletedUnread {
    /// Returns the offsets of a gap that Kafka deleted unread; nil if the gap has another cause.
    /// - Parameters:
    ///   - expected: the next offset to read.
    ///   - found: the offset of the record or of the log's end that came instead.
    ///   - resets: the offsets that librdkafka wanted to fetch and found deleted. After each, it continued at the
    ///     earliest record.
    ///   - earliest: the first offset in the log; nil if librdkafka does not know it. If Kafka deleted the record at
    ///     `found` after librdkafka had fetched it, `earliest` is above `found`.
    static func lost(
        from expected: Int64, to found: Int64, resets: [Int64], earliest: Int64?
    ) -> ClosedRange<Int64>? {
        if let reset = resets.filter({ $0 >= expected && $0 < found }).min() { return reset...found - 1 }
        guard let earliest, earliest > expected, earliest <= found else { return nil }
        return expected...earliest - 1
    }

    /// Reports the records that Kafka deleted between `expected` and `found`, if any.
    static func look(
        from expected: Int64, to found: Int64, in partition: TopicPartition, _ consumer: KafkaConsumer,
        metrics: ReceiptdMetrics, logger: Logger
    ) {
        guard found > expected else { return }
        let lost = lost(
            from: expected, to: found, resets: consumer.takeResets(of: partition, below: found),
            earliest: consumer.cachedWatermarks(partition)?.low)
        guard let lost else { return }
        metrics.offsetResets.increment()
        LostRecords(partition: partition, first: lost.lowerBound, last: lost.upperBound)
            .tell(goingOnAt: found, metrics, logger)
    }
}

extension RecordIntake {
    /// Reports records that Kafka deleted unread. Call it before the worker takes a record or the log's end.
    /// - Parameter offset: the offset of that record, or of the log's end.
    func lookForDeleted(before offset: Int64, in partition: TopicPartition, _ consumer: KafkaConsumer) {
        guard let expected = assignment.gate.next(of: partition), offset >= expected else {
            // Other functions report these resets: `PartitionHandover` before the first record, `admit` if offsets go
            // down.
            _ = consumer.takeResets(of: partition, below: .max)
            return
        }
        DeletedUnread.look(
            from: expected, to: offset, in: partition, consumer, metrics: worker.metrics.all, logger: logger)
    }
}

extension BatchedTopicOffsets {
    /// Reports records that Kafka deleted unread, or a topic that was created again. For submissions,
    /// `PartitionHandover` compares the committed offsets with the log. At the takeover of a batched topic's partition
    /// there is no such comparison. So this function also reports an offset reset before the first record that this
    /// owner reads.
    /// - Parameter offset: the offset of the next record, or of the log's end.
    func lookForDeleted(before offset: Int64, in partition: TopicPartition, _ consumer: KafkaConsumer) {
        guard let owner = partitions[partition], let expected = owner.expected, offset >= expected else {
            let resets = consumer.takeResets(of: partition, below: .max)
            if let start = partitions[partition]?.firstExpected, resets.contains(start) {
                warnOfNewTopic(partition, committed: start, goingOnAt: offset)
            }
            return
        }
        DeletedUnread.look(from: expected, to: offset, in: partition, consumer, metrics: metrics, logger: logger)
    }

    private func warnOfNewTopic(_ partition: TopicPartition, committed: Int64, goingOnAt next: Int64) {
        metrics.offsetResets.increment()
        metrics.incidents.note(.topicMadeAnew, of: "\(partition.topic)/\(partition.partition)")
        logger.warning(
            """
            the partition ends before its committed offset, because the topic was recreated: the worker reads the \
            partition from its earliest record
            """,
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(next), .detail: "committed \(committed)",
            ])
    }
}

/// The offsets of records that Kafka deleted before the worker read them.
struct LostRecords {
    let partition: TopicPartition
    let first: Int64
    let last: Int64

    /// The number of offsets, including transaction markers.
    var count: Int64 { last - first + 1 }

    func tell(goingOnAt next: Int64, _ metrics: ReceiptdMetrics, _ logger: Logger) {
        metrics.incidents.note(
            .deletedUnread, of: "\(partition.topic)/\(partition.partition): \(first) to \(last)",
            count: Int(clamping: count))
        logger.warning(
            "Kafka deleted records before the worker read them: the worker reads the earliest record next",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .detail: "offsets \(first) to \(last) are lost", .count: .stringConvertible(count),
                .offset: .stringConvertible(next),
            ])
    }
}
