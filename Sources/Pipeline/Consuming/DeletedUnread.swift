import Kafka
import Logging
import Operations

/// Records that were deleted before they were read, as by retention under a worker that lags. librdkafka goes on at the
/// earliest record, and nothing but a gap shows it. Compaction and the markers of transactions leave gaps too.
enum DeletedUnread {
    /// How many offsets of a gap were deleted unread; nil where it is of another kind.
    /// - Parameters:
    ///   - expected: the offset that was to be read next.
    ///   - found: the one that came.
    ///   - resets: where librdkafka found nothing and went on at the earliest record.
    ///   - earliest: the first offset in the log, nil where librdkafka does not know it. Where it is above `found`, that
    ///     was fetched before the log was cut off.
    static func count(from expected: Int64, to found: Int64, resets: [Int64], earliest: Int64?) -> Int64? {
        if let reset = resets.filter({ $0 >= expected && $0 < found }).min() { return found - reset }
        guard let earliest, earliest > expected, earliest <= found else { return nil }
        return earliest - expected
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
            let count = DeletedUnread.count(
                from: expected, to: offset, resets: consumer.takeResets(of: partition, below: offset),
                earliest: consumer.cachedWatermarks(partition)?.low)
        else { return }
        worker.metrics.all.offsetResets.increment()
        logger.warning(
            "records were deleted before they were read: reading goes on at the earliest",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(offset), .count: .stringConvertible(count),
            ])
    }
}
