/// The gauges of the partitions of one topic. A series that exists stays: a revoked partition has no lag here, for
/// another replica tells of it. A lost one keeps its last lag, for no other replica may have it while Kafka is away.
///
/// One owner: the thread of the topic's consumer.
public struct PartitionGauges {
    private let lag: GaugeFamily
    /// The gauge of their number; nil if nobody reads it.
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

    /// The consumer was given these, besides those that it has.
    public mutating func assign(_ partitions: [(topic: String, partition: Int32)]) {
        assigned.formUnion(partitions.map { Place(topic: $0.topic, partition: $0.partition) })
        // A replica with partitions has joined the group: the others are another replica's now.
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
    ///   - end: the log's, in offsets.
    ///   - now: in milliseconds since the epoch.
    public func set(lag records: Int64, end: Int64, topic: String, partition: Int32, now: Int64) {
        if records <= 0 { clock?.ended(topic: topic, partition: partition, offset: end, now: now) }
        gauge(Place(topic: topic, partition: partition)).set(Double(max(0, records)))
    }

    private func gauge(_ place: Place) -> Gauge { lag.with(place.topic, "\(place.partition)") }
}
