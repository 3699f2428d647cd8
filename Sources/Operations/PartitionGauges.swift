/// The gauges of the partitions of one topic. If Kafka revokes a partition, its lag becomes 0 here, because another
/// replica reports the lag. If this replica dropped out of the group (`isLost`), the partition's lag stays: while Kafka
/// cannot be reached, perhaps no replica has the partition.
///
/// Only the thread of the topic's consumer may use it.
public struct PartitionGauges {
    private let lag: GaugeFamily
    /// The gauge of the number of assigned partitions; nil if no metric has this number.
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

    /// Adds newly assigned partitions to the assigned ones.
    public mutating func assign(_ partitions: [(topic: String, partition: Int32)]) {
        assigned.formUnion(partitions.map { Place(topic: $0.topic, partition: $0.partition) })
        // A replica that gets partitions is in the group again. If it lost a partition and did not get the partition
        // back, another replica has the partition now.
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

    /// Sets the lag of a partition.
    /// - Parameters:
    ///   - end: the end offset of the partition.
    ///   - now: milliseconds since 1970.
    public func set(lag records: Int64, end: Int64, topic: String, partition: Int32, now: Int64) {
        if records <= 0 { clock?.ended(topic: topic, partition: partition, offset: end, now: now) }
        gauge(Place(topic: topic, partition: partition)).set(Double(max(0, records)))
    }

    private func gauge(_ place: Place) -> Gauge { lag.with(place.topic, "\(place.partition)") }
}
