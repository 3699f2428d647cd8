import CRDKafka

/// The object that librdkafka's callbacks reach through the client's opaque pointer.
///
/// Not Sendable, and shared with librdkafka's threads: those read `log`, `contact` and `resets` only, which are immutable
/// and Sendable. The rest is the consumer's, which uses it on its one thread, and so do the callbacks it is for: librdkafka
/// makes them from within `rd_kafka_consumer_poll` and `rd_kafka_consumer_close`.
final class ClientContext {
    let log: @Sendable (KafkaLogLine) -> Void
    let contact: BrokerContact
    let resets: OffsetResets
    var rebalance: KafkaConsumer.Rebalance?
    var onCommit: ((Result<[TopicPartition: Int64], KafkaError>) -> Void)?

    /// The partitions of the assignment that the application paused. librdkafka would keep it paused over a
    /// reassignment.
    private var paused: Set<TopicPartition> = []

    init(log: @escaping @Sendable (KafkaLogLine) -> Void) {
        let contact = BrokerContact()
        let resets = OffsetResets()
        self.contact = contact
        self.resets = resets
        self.log = { line in
            contact.note(line)
            resets.note(line)
            log(line)
        }
    }

    /// Sound while the client lives: `ClientHandle` holds a reference until `rd_kafka_destroy` has returned.
    static func of(_ opaque: UnsafeMutableRawPointer?) -> ClientContext? {
        opaque.map { Unmanaged<ClientContext>.fromOpaque($0).takeUnretainedValue() }
    }

    func notePaused(_ partitions: [TopicPartition]) { paused.formUnion(partitions) }
    func noteResumed(_ partitions: [TopicPartition]) { paused.subtract(partitions) }

    /// Resumes partitions (nil: all) before they leave the assignment, so that they are not paused if they come back.
    /// To resume them when they come back would make librdkafka drop what it is fetching.
    func resumeLeaving(_ leaving: [TopicPartition]?, client: OpaquePointer) {
        let resumed = leaving.map { paused.intersection($0) } ?? paused
        guard !resumed.isEmpty else { return }
        paused.subtract(resumed)
        let list = PartitionList(resumed)
        // Fails only for a partition librdkafka no longer knows, and so cannot hold paused either.
        rd_kafka_resume_partitions(client, list.pointer)
    }
}
