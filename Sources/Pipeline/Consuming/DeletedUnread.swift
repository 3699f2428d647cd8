import Kafka
import Logging
import Operations

/// Records that were deleted before they were read, as by retention under a worker that lags. librdkafka goes on at the
/// earliest record, and nothing but a gap shows it. Compaction and the markers of transactions leave gaps too.
enum DeletedUnread {
    /// Which offsets of a gap were deleted unread; nil where it is of another kind.
    /// - Parameters:
    ///   - expected: the offset that was to be read next.
    ///   - found: the one that came.
    ///   - resets: where librdkafka found nothing and went on at the earliest record.
    ///   - earliest: the first offset in the log, nil where librdkafka does not know it. Where it is above `found`, that
    ///     was fetched before the log was cut off.
    static func lost(
        from expected: Int64, to found: Int64, resets: [Int64], earliest: Int64?
    ) -> ClosedRange<Int64>? {
        if let reset = resets.filter({ $0 >= expected && $0 < found }).min() { return reset...found - 1 }
        guard let earliest, earliest > expected, earliest <= found else { return nil }
        return expected...earliest - 1
    }
}

extension RecordIntake {
    /// Tells of records that were deleted unread. To be called before a record, or the log's end, is taken.
    /// - Parameter offset: the record's, or the log's end.
    func lookForDeleted(before offset: Int64, in partition: TopicPartition, _ consumer: KafkaConsumer) {
        guard let expected = assignment.gate.next(of: partition), offset >= expected else {
            // Where reading begins, or begins anew, it is told otherwise.
            _ = consumer.takeResets(of: partition, below: .max)
            return
        }
        guard offset > expected else { return }
        guard
            let lost = DeletedUnread.lost(
                from: expected, to: offset, resets: consumer.takeResets(of: partition, below: offset),
                earliest: consumer.cachedWatermarks(partition)?.low)
        else { return }
        worker.metrics.all.offsetResets.increment()
        LostRecords(partition: partition, first: lost.lowerBound, last: lost.upperBound)
            .tell(goingOnAt: offset, worker.metrics.all, logger)
    }
}

/// Offsets whose records nobody will ever read.
struct LostRecords {
    let partition: TopicPartition
    let first: Int64
    let last: Int64

    /// Markers of transactions count too.
    var count: Int64 { last - first + 1 }

    func tell(goingOnAt next: Int64, _ metrics: ReceiptdMetrics, _ logger: Logger) {
        metrics.incidents.note(
            .deletedUnread, of: "\(partition.topic)/\(partition.partition): \(first) to \(last)",
            count: Int(clamping: count))
        logger.warning(
            "records were deleted before they were read: reading goes on at the earliest",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .detail: "offsets \(first) to \(last) are lost", .count: .stringConvertible(count),
                .offset: .stringConvertible(next),
            ])
    }
}
