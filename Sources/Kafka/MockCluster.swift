import CRDKafka
import Synchronization

/// librdkafka's in-process broker, for the demo and for tests. Other processes can connect to it. Version 2.0.2 differs
/// from a real broker:
/// - It keeps 5 MB per partition, and drops older records without an error.
/// - The first join of a group takes 3 s.
/// - A member that joins again waits for `session.timeout.ms` less 1 s. Set 3200 or more: below 3000 it never joins.
/// - `offsetsForTime` finds nothing.
/// - A client's first record may take 1 s.
/// - It ignores an idempotent producer's sequence numbers. So if `pushRequestErrors` made it refuse a record, the
///   record may count as acknowledged, unless `max.in.flight` is 1.
public final class MockCluster: Sendable {
    /// `@unchecked Sendable` is sound: the lock of `open` guards the cluster, and librdkafka runs each call on the
    /// cluster's own thread.
    private struct Cluster: @unchecked Sendable {
        let handle: ClientHandle
        let pointer: OpaquePointer
    }

    /// Nil after `close`.
    private let open: Mutex<Cluster?>
    public let bootstrapServers: String

    /// Starts brokers with the ids 1 to `brokerCount`. `topics` has the partition count of each topic. The cluster
    /// creates an unlisted topic with 4 partitions when a client first requests it.
    public init(brokerCount: Int32 = 1, topics: [String: Int32] = [:]) throws(KafkaError) {
        // This client only owns the cluster. It connects to no broker, so librdkafka logs a warning.
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

    /// Delays each response of a broker by this time. Broker -1 means all brokers.
    public func setRoundTripTime(broker: Int32, milliseconds: Int32) {
        command { rd_kafka_mock_broker_set_rtt($0, broker, milliseconds) }
    }

    /// Disconnects a broker's clients and refuses new connections. Leaders and coordinators stay the same. Id -1 means
    /// all brokers.
    public func setBrokerDown(_ id: Int32) {
        let down = id == -1 ? ports : ports.filter { $0.key == id }
        // librdkafka closes the socket, binds its port again at once, and aborts if the port is still in use.
        for socket in ListeningSocket.all(on: Set(down.values)) { socket.end() }
        command { rd_kafka_mock_broker_set_down($0, id) }
    }

    public func setBrokerUp(_ id: Int32) { command { rd_kafka_mock_broker_set_up($0, id) } }

    /// Sets the codes with which the cluster answers the next requests of one kind, one code for each request. Kinds: 0
    /// produce, 1 fetch, 3 metadata, 8 offset commit, 9 offset fetch, 11 join, 12 heartbeat
    /// (https://kafka.apache.org/protocol#protocol_api_keys). Code 0 lets a request succeed, -195 disconnects the
    /// client.
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

    /// Makes the cluster answer requests for the topic's metadata with this error. Code 0 removes the error.
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

    /// Disconnects all clients and deletes all records. Blocks shortly. A further call does nothing.
    public func close() {
        let cluster = open.withLock { open in
            defer { open = nil }
            return open
        }
        guard let cluster else { return }
        rd_kafka_mock_cluster_destroy(cluster.pointer)
        cluster.handle.destroy()
    }

    /// The port of each broker, by broker id. librdkafka lists the brokers in the order of their ids.
    private var ports: [Int32: UInt16] {
        let ports = bootstrapServers.split(separator: ",").map { $0.split(separator: ":").last.flatMap { UInt16($0) } }
        return Dictionary(uniqueKeysWithValues: zip(1..., ports)).compactMapValues { $0 }
    }

    private func call(_ body: (OpaquePointer) -> rd_kafka_resp_err_t) throws(KafkaError) {
        let code = open.withLock { $0.map { body($0.pointer) } }
        guard let code else { throw .closed }
        try KafkaError.check(code)
    }

    /// Runs a call that fails only for an unknown broker or a closed cluster, which is a bug of the caller.
    private func command(_ body: (OpaquePointer) -> rd_kafka_resp_err_t) {
        do throws(KafkaError) { try call(body) } catch { preconditionFailure("mock cluster: \(error)") }
    }
}
