import CRDKafka

/// The object that librdkafka's callbacks reach through the client's opaque pointer.
///
/// The class is not Sendable, although librdkafka's threads share an object of it. They read only `log`, `contact` and
/// `resets`, which are immutable and Sendable. Only the consumer's thread uses the other members:
/// `rd_kafka_consumer_poll` and `rd_kafka_consumer_close` make their callbacks on it.
final class ClientContext {
    let log: @Sendable (KafkaLogLine) -> Void
    let contact: BrokerContact
    let resets: OffsetResets
    var rebalance: KafkaConsumer.Rebalance?
    var onCommit: ((Result<[TopicPartition: Int64], KafkaError>) -> Void)?

    /// The assigned partitions that the application paused. librdkafka would keep a partition paused when the group
    /// assigns it again.
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

    /// Returns the context that a callback's opaque pointer refers to. This is sound while the client lives:
    /// `ClientHandle` retains the context until `rd_kafka_destroy` has returned.
    static func of(_ opaque: UnsafeMutableRawPointer?) -> ClientContext? {
        opaque.map { Unmanaged<ClientContext>.fromOpaque($0).takeUnretainedValue() }
    }

    func notePaused(_ partitions: [TopicPartition]) { paused.formUnion(partitions) }
    func noteResumed(_ partitions: [TopicPartition]) { paused.subtract(partitions) }

    /// Resumes partitions (nil: all) before the consumer loses them, so that a later assignment does not find them
    /// paused. A resume after that assignment would make librdkafka drop the records that it is fetching.
    func resumeLeaving(_ leaving: [TopicPartition]?, client: OpaquePointer) {
        let resumed = leaving.map { paused.intersection($0) } ?? paused
        guard !resumed.isEmpty else { return }
        paused.subtract(resumed)
        let list = PartitionList(resumed)
        // Fails only for a partition that librdkafka no longer knows, and therefore does not keep paused.
        rd_kafka_resume_partitions(client, list.pointer)
    }
}
