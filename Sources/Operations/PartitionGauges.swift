/// The gauges of the partitions of one topic. A series that exists stays. A revoked partition's lag becomes 0, because
/// another replica reports that partition. A lost partition keeps its last lag, because while Kafka is away perhaps no
/// other replica has the partition.
///
/// Only the thread of the topic's consumer uses it.
public struct PartitionGauges {
    private let lag: GaugeFamily
    /// The gauge of the number of assigned partitions; nil if nobody reads it.
    private let count: Gauge?
    private let clock: RecordClock?
    private var assigned: Set<Place> = []
    private var lost: Set<Place> = []

    private struct Place: Hashable {
        let topic: String
        let partition: Int32
    }

    public init(lag: GaugeFamily, count: Gauge? = nil, clock: RecordClock? = nil) {
        self.clock = clock
        self.lag = lag
        self.count = count
    }

    /// Adds newly assigned partitions to those that the consumer has.
    public mutating func assign(_ partitions: [(topic: String, partition: Int32)]) {
        assigned.formUnion(partitions.map { Place(topic: $0.topic, partition: $0.partition) })
        // A replica with new partitions has joined the group. Its other lost partitions are another replica's now.
        for place in lost.subtracting(assigned) { gauge(place).set(0) }
        lost = []
        count?.set(assigned.count)
    }

    public mutating func revoke(topic: String, partition: Int32, isLost: Bool) {
        let place = Place(topic: topic, partition: partition)
        guard assigned.remove(place) != nil else { return }
        if isLost { lost.insert(place) } else { gauge(place).set(0) }
        count?.set(assigned.count)
    }

    /// - Parameters:
    ///   - end: the offset at the log's end.
    ///   - now: milliseconds since the epoch.
    public func set(lag records: Int64, end: Int64, topic: String, partition: Int32, now: Int64) {
        if records <= 0 { clock?.ended(topic: topic, partition: partition, offset: end, now: now) }
        gauge(Place(topic: topic, partition: partition)).set(Double(max(0, records)))
    }

    private func gauge(_ place: Place) -> Gauge { lag.with(place.topic, "\(place.partition)") }
}
