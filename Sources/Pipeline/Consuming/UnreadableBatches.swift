import Kafka

/// Decides which partitions an unreadable batch may be blocking. Only one thread uses it.
///
/// A suspicion begins if librdkafka fails repeatedly at one offset, or if the log has more records and none comes.
/// `BatchProbe` then finds out whether a batch is unreadable, and where it ends. The probe examines one partition at a
/// time, because it needs as much memory as the batch.
struct UnreadableBatches {
    /// The number of consecutive failures at one offset after which a suspicion begins.
    static let failures = 3
    /// If the log has more records but none comes for this number of seconds, a suspicion begins.
    static let standstillSeconds = 30.0

    struct Suspicion: Equatable {
        let partition: TopicPartition
        let offset: Int64
    }

    /// One unreadable batch, or several in a row.
    struct Found: Equatable {
        /// The first unread offset, which is also the dead letter's offset.
        let first: Int64
        let last: Int64
        let words: String?
    }

    private struct Failing {
        let base: Int64
        var count: Int
    }

    private struct Standstill {
        let next: Int64
        let since: Double
    }

    private var failing: [TopicPartition: Failing] = [:]
    private var standstills: [TopicPartition: Standstill] = [:]
    /// The suspicion that `BatchProbe` is examining; nil if there is none.
    private(set) var examined: Suspicion?

    /// Notes that a record came, which ends the series of failures.
    mutating func progressed(_ partition: TopicPartition) {
        if !failing.isEmpty { failing[partition] = nil }
    }

    /// Notes a failure. Returns a suspicion to examine; nil if there is none, or if another suspicion is being
    /// examined.
    /// - Parameter next: the offset of the next record to read; nil if unknown.
    mutating func failed(_ place: KafkaError.Place, next: Int64?) -> Suspicion? {
        let partition = place.topicPartition
        if failing[partition]?.base == place.offset {
            failing[partition]?.count += 1
        } else {
            failing[partition] = Failing(base: place.offset, count: 1)
        }
        guard examined == nil, let count = failing[partition]?.count, count >= Self.failures else { return nil }
        return examine(partition, at: max(next ?? place.offset, place.offset))
    }

    /// Checks whether the partition still delivers no record although its log has more. Returns a suspicion to examine;
    /// nil if there is none, or if another suspicion is being examined. Call it about every second.
    /// - Parameters:
    ///   - next: the offset of the next record to read; nil if unknown.
    ///   - end: the offset after the last record; nil if unknown.
    ///   - mayCome: true if this worker accepts records of the partition now.
    mutating func look(
        at partition: TopicPartition, next: Int64?, end: Int64?, mayCome: Bool, now: Double
    ) -> Suspicion? {
        guard mayCome, let next, let end, next < end else {
            standstills[partition] = nil
            return nil
        }
        guard let known = standstills[partition], known.next == next else {
            standstills[partition] = Standstill(next: next, since: now)
            return nil
        }
        guard examined == nil, now - known.since >= Self.standstillSeconds else { return nil }
        standstills[partition] = nil
        return examine(partition, at: next)
    }

    private mutating func examine(_ partition: TopicPartition, at offset: Int64) -> Suspicion {
        let suspicion = Suspicion(partition: partition, offset: offset)
        examined = suspicion
        return suspicion
    }

    /// Ends the examination. The partition's failures and standstill count from zero again.
    mutating func examined(_ suspicion: Suspicion) {
        guard examined == suspicion else { return }
        examined = nil
        failing[suspicion.partition] = nil
        standstills[suspicion.partition] = nil
    }

    mutating func forget(_ partition: TopicPartition) {
        failing[partition] = nil
        standstills[partition] = nil
    }

    /// Forgets all failures and standstills, but not the suspicion that is being examined.
    mutating func forgetAll() {
        failing = [:]
        standstills = [:]
    }
}
