import Kafka
import Logging
import Operations

extension ReceiptdMetrics {
    /// Counts and logs that PostgreSQL lacks decisions on records whose offsets Kafka has committed: the offsets from
    /// `start` to `committed - 1`.
    func databaseFellBack(
        _ message: StaticString, _ partition: TopicPartition, from committed: Int64, to start: Int64, _ logger: Logger
    ) {
        databaseFallbacks.increment()
        incidents.note(.databaseFellBack, of: "\(partition.topic)/\(partition.partition)")
        logger.warning(
            message,
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(start), .count: .stringConvertible(committed - start),
            ])
    }

    /// Counts and logs that PostgreSQL lacks revisions (versions of grants or subscriptions) although their events are
    /// on the outcomes topic.
    /// - Parameter count: the number of compared events whose revision is missing.
    func databaseFellBack(lacking count: Int, publishedTo topic: String, _ logger: Logger) {
        databaseFallbacks.increment()
        incidents.note(.databaseFellBack, of: topic)
        logger.warning(
            "the database lacks published grants or subscriptions: the worker reads the outcomes topic before it decides",
            [.topic: "\(topic)", .count: .stringConvertible(count)])
    }
}
