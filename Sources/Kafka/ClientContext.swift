import CRDKafka

/// The object that librdkafka's callbacks reach through the client's opaque pointer.
///
/// The class is not Sendable, although librdkafka's threads share it: they read only `log`, `contact` and `resets`,
/// which are immutable and Sendable. The consumer's one thread uses the other members, also in the callbacks that
/// librdkafka makes from within `rd_kafka_consumer_poll` and `rd_kafka_consumer_close`.
final class ClientContext {
    let log: @Sendable (KafkaLogLine) -> Void
    let contact: BrokerContact
    let resets: OffsetResets
    var rebalance: KafkaConsumer.Rebalance?
    var onCommit: ((Result<[TopicPartition: Int64], KafkaError>) -> Void)?

    /// The partitions of the assignment that the application paused. librdkafka would keep them paused over a
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

    /// Returns the context of a callback. This is sound while the client lives: `ClientHandle` holds a reference until
    /// `rd_kafka_destroy` has returned.
    static func of(_ opaque: UnsafeMutableRawPointer?) -> ClientContext? {
        opaque.map { Unmanaged<ClientContext>.fromOpaque($0).takeUnretainedValue() }
    }

    func notePaused(_ partitions: [TopicPartition]) { paused.formUnion(partitions) }
    func noteResumed(_ partitions: [TopicPartition]) { paused.subtract(partitions) }

    /// Resumes partitions (nil: all) before they leave the assignment, so that they are not paused if they come back.
    /// Resuming them when they come back would make librdkafka drop the records that it is fetching.
    func resumeLeaving(_ leaving: [TopicPartition]?, client: OpaquePointer) {
        let resumed = leaving.map { paused.intersection($0) } ?? paused
        guard !resumed.isEmpty else { return }
        paused.subtract(resumed)
        let list = PartitionList(resumed)
        // This call fails only for a partition that librdkafka no longer knows, and so does not keep paused.
        rd_kafka_resume_partitions(client, list.pointer)
    }
}
