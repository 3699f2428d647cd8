import CRDKafka
import Synchronization

/// librdkafka's in-process broker, for the demo and for tests. Other processes can connect to it.
///
/// Unlike a broker, it (2.0.2) keeps 5 MB a partition and drops older records silently. A group's first join takes 3 s.
/// A member that joins again waits for `session.timeout.ms` less 1 s (set 3200 or more: below 3000 it never joins). The
/// cluster finds no offset for a time. The first record of a client may take 1 s. The cluster ignores the sequence of
/// an idempotent producer: a record that it was told to refuse may count as acknowledged, unless `max.in.flight` is 1.
public final class MockCluster: Sendable {
    /// `Sendable` is sound: `open`'s lock guards the cluster, and librdkafka hands each call to the cluster's own
    /// thread.
    private struct Cluster: @unchecked Sendable {
        let handle: ClientHandle
        let pointer: OpaquePointer
    }

    /// The cluster; nil once closed.
    private let open: Mutex<Cluster?>
    public let bootstrapServers: String

    /// Brokers have the ids 1 to `brokerCount`. `topics` are partition counts; a topic not listed is created with 4
    /// partitions when a client asks for it.
    public init(brokerCount: Int32 = 1, topics: [String: Int32] = [:]) throws(KafkaError) {
        // The handle only carries the cluster: it connects to nothing, and warns that it does not.
        let handle = try ClientHandle(
            RD_KAFKA_PRODUCER, properties: KafkaProperties(), context: ClientContext(log: { _ in }), configure: { _ in }
        )
        guard let pointer = rd_kafka_mock_cluster_new(handle.pointer, brokerCount) else {
            handle.destroy()
            throw KafkaError(RD_KAFKA_RESP_ERR__FAIL, message: "the mock cluster could not be made")
        }
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(pointer))
        open = Mutex(Cluster(handle: handle, pointer: pointer))
        for (topic, partitions) in topics { try createTopic(topic, partitions: partitions) }
    }

    deinit { close() }

    private func createTopic(_ name: String, partitions: Int32) throws(KafkaError) {
        try call { rd_kafka_mock_topic_create($0, name, partitions, 1) }
    }

    /// Makes each response of a broker come this late. Broker -1 means all brokers.
    public func setRoundTripTime(broker: Int32, milliseconds: Int32) {
        command { rd_kafka_mock_broker_set_rtt($0, broker, milliseconds) }
    }

    /// Disconnects the clients and refuses new ones. Leaders and coordinators stay the same. Id -1 means all brokers.
    public func setBrokerDown(_ id: Int32) {
        let down = id == -1 ? ports : ports.filter { $0.key == id }
        // librdkafka closes the socket and binds its port again at once; it aborts where the port is not free by then.
        for socket in ListeningSocket.all(on: Set(down.values)) { socket.end() }
        command { rd_kafka_mock_broker_set_down($0, id) }
    }

    public func setBrokerUp(_ id: Int32) { command { rd_kafka_mock_broker_set_up($0, id) } }

    /// Makes the cluster answer the next requests of a kind with these codes, one each: 0 produce, 1 fetch, 3 metadata,
    /// 8 offset commit, 9 offset fetch, 11 join, 12 heartbeat (https://kafka.apache.org/protocol#protocol_api_keys).
    /// Code 0 lets a request pass, -195 disconnects the client.
    public func pushRequestErrors(apiKey: Int16, _ codes: [Int32]) {
        let codes = codes.map { rd_kafka_resp_err_t($0) }
        command { cluster in
            rd_kafka_mock_push_request_errors_array(cluster, apiKey, codes.count, codes)
            return RD_KAFKA_RESP_ERR_NO_ERROR
        }
    }

    public func clearRequestErrors(apiKey: Int16) {
        command { cluster in
            rd_kafka_mock_clear_request_errors(cluster, apiKey)
            return RD_KAFKA_RESP_ERR_NO_ERROR
        }
    }

    /// Makes the cluster answer this error to requests for the topic's metadata. Code 0: no error again.
    public func setTopicError(_ topic: String, _ code: Int32) {
        command { cluster in
            rd_kafka_mock_topic_set_error(cluster, topic, rd_kafka_resp_err_t(code))
            return RD_KAFKA_RESP_ERR_NO_ERROR
        }
    }

    public func setCoordinator(group: String, broker: Int32) {
        command { rd_kafka_mock_coordinator_set($0, "group", group, broker) }
    }

    /// Sets the leader of a partition. Broker -1 means no leader.
    public func setPartitionLeader(topic: String, partition: Int32, broker: Int32) {
        command { rd_kafka_mock_partition_set_leader($0, topic, partition, broker) }
    }

    /// Disconnects everyone and forgets every record. Blocks shortly. Idempotent.
    public func close() {
        let cluster = open.withLock { open in
            defer { open = nil }
            return open
        }
        guard let cluster else { return }
        rd_kafka_mock_cluster_destroy(cluster.pointer)
        cluster.handle.destroy()
    }

    /// The port of each broker, by the broker's id. librdkafka lists the brokers in the order of their ids.
    private var ports: [Int32: UInt16] {
        let ports = bootstrapServers.split(separator: ",").map { $0.split(separator: ":").last.flatMap { UInt16($0) } }
        return Dictionary(uniqueKeysWithValues: zip(1..., ports)).compactMapValues { $0 }
    }

    private func call(_ body: (OpaquePointer) -> rd_kafka_resp_err_t) throws(KafkaError) {
        let code = open.withLock { $0.map { body($0.pointer) } }
        guard let code else { throw .closed }
        try KafkaError.check(code)
    }

    /// Fails only for a broker that does not exist or a cluster that was closed: a bug of the caller.
    private func command(_ body: (OpaquePointer) -> rd_kafka_resp_err_t) {
        do throws(KafkaError) { try call(body) } catch { preconditionFailure("mock cluster: \(error)") }
    }
}
