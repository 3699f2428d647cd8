import Kafka

/// Decides which partitions are stopped by a batch that cannot be read. A value of one thread's.
///
/// A partition is suspected if librdkafka fails at the same offset again and again, or if there is more to read and
/// nothing comes. `BatchProbe` looks up whether that is so, and how far it reaches: one partition at a time, because it
/// takes the memory that the batch takes.
struct UnreadableBatches {
    /// The number of failures at one offset, with nothing else in between, that makes a suspicion.
    static let failures = 3
    /// The seconds without a record, although there are some, that make a suspicion.
    static let standstillSeconds = 30.0

    struct Suspicion: Equatable {
        let partition: TopicPartition
        let offset: Int64
    }

    /// A batch, or several in a row, that cannot be read.
    struct Found: Equatable {
        /// The first offset that was not read. The dead letter takes its place.
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
    /// The suspicion under examination; nil without one.
    private(set) var examined: Suspicion?

    /// Notes that a record came. What was wrong, if anything was, is over.
    mutating func progressed(_ partition: TopicPartition) {
        if !failing.isEmpty { failing[partition] = nil }
    }

    /// Notes a failure.
    /// - Parameter next: the offset to be read next; nil if unknown.
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

    /// Looks at a partition that is being read. Call it every second or so.
    /// - Parameters:
    ///   - next: the offset to be read next; nil if unknown.
    ///   - end: the offset behind the last record; nil if unknown.
    ///   - mayCome: true if nothing on this side keeps records from coming.
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

    /// Ends the examination. If it found nothing, or failed, the suspicion must arise anew.
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

    /// Forgets all suspicions, except one under examination.
    mutating func forgetAll() {
        failing = [:]
        standstills = [:]
    }
}
