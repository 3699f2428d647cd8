import CRDKafka
import Foundation

/// Creates and deletes topics on a real cluster. librdkafka's in-process broker does not support these requests;
/// `MockCluster` creates topics itself.
public enum TopicAdministration {
    /// Creates topics, with a partition count for each name and the cluster's default replication. Blocks. Throws the
    /// first error that a topic has. An existing topic is an error.
    /// - Parameter settings: settings for every topic, by Kafka's names. The broker's defaults apply to all other
    ///   settings.
    public static func create(
        _ topics: [String: Int32], settings: [String: String] = [:], properties: KafkaProperties,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) {
        let names = topics.keys.sorted()
        var requests: [OpaquePointer?] = []
        defer { for request in requests { rd_kafka_NewTopic_destroy(request) } }
        for name in names {
            // -1 leaves the replication factor to the broker (since Kafka 2.4).
            let request = rd_kafka_NewTopic_new(name, topics[name] ?? 1, -1, nil, 0)
            for (setting, value) in settings { rd_kafka_NewTopic_set_config(request, setting, value) }
            requests.append(request)
        }
        try run(properties, timeoutMilliseconds) { client, queue in
            rd_kafka_CreateTopics(client, &requests, requests.count, nil, queue)
        } results: { event, count in
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), count)
        }
    }

    /// Blocks until each partition's leader answers a request, because brokers learn of a new topic after its creation.
    /// Throws the last error when the time is over.
    public static func awaitLeaders(
        of topics: [String: Int32], properties: KafkaProperties, timeoutMilliseconds: Int32
    ) throws(KafkaError) {
        let client = try ClientHandle(
            RD_KAFKA_PRODUCER, properties: properties, context: ClientContext(log: { _ in }), configure: { _ in })
        defer { client.destroy() }
        let deadline = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
        for (topic, count) in topics {
            for partition in 0..<count {
                while true {
                    var (low, high): (Int64, Int64) = (0, 0)
                    let code = rd_kafka_query_watermark_offsets(
                        client.pointer, topic, partition, &low, &high, leaderMilliseconds)
                    if code == RD_KAFKA_RESP_ERR_NO_ERROR { break }
                    guard ContinuousClock.now < deadline else { throw KafkaError(code) }
                    usleep(50_000)
                }
            }
        }
    }

    private static let leaderMilliseconds: Int32 = 1000

    /// Deletes topics. Blocks. Throws the first error that a topic has.
    public static func delete(
        _ names: [String], properties: KafkaProperties, timeoutMilliseconds: Int32
    ) throws(KafkaError) {
        var requests: [OpaquePointer?] = names.map { rd_kafka_DeleteTopic_new($0) }
        defer { for request in requests { rd_kafka_DeleteTopic_destroy(request) } }
        try run(properties, timeoutMilliseconds) { client, queue in
            rd_kafka_DeleteTopics(client, &requests, requests.count, nil, queue)
        } results: { event, count in
            rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), count)
        }
    }

    /// Returns the value of the setting `name` for each topic. Blocks. Throws the first error that a topic has.
    public static func configuration(
        _ name: String, of topics: [String], properties: KafkaProperties, timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [String: String] {
        var requests: [OpaquePointer?] = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { for request in requests { rd_kafka_ConfigResource_destroy(request) } }
        var found: [String: String] = [:]
        try ask(properties, timeoutMilliseconds) { client, queue in
            rd_kafka_DescribeConfigs(client, &requests, requests.count, nil, queue)
        } read: { event throws(KafkaError) in
            var count = 0
            let resources = rd_kafka_DescribeConfigs_result_resources(
                rd_kafka_event_DescribeConfigs_result(event), &count)
            for index in 0..<count {
                guard let resource = resources?[index], let topic = rd_kafka_ConfigResource_name(resource) else {
                    continue
                }
                try KafkaError.check(rd_kafka_ConfigResource_error(resource))
                var settings = 0
                let entries = rd_kafka_ConfigResource_configs(resource, &settings)
                for number in 0..<settings {
                    guard let entry = entries?[number], let key = rd_kafka_ConfigEntry_name(entry),
                        String(cString: key) == name, let value = rd_kafka_ConfigEntry_value(entry)
                    else { continue }
                    found[String(cString: topic)] = String(cString: value)
                }
            }
        }
        return found
    }

    private static func run(
        _ properties: KafkaProperties, _ timeoutMilliseconds: Int32,
        request: (OpaquePointer, OpaquePointer?) -> Void,
        results: (OpaquePointer?, UnsafeMutablePointer<Int>) -> UnsafeMutablePointer<OpaquePointer?>?
    ) throws(KafkaError) {
        try ask(properties, timeoutMilliseconds, request: request) { event throws(KafkaError) in
            var count = 0
            let topics = results(event, &count)
            for index in 0..<count { try KafkaError.check(rd_kafka_topic_result_error(topics?[index])) }
        }
    }

    private static func ask(
        _ properties: KafkaProperties, _ timeoutMilliseconds: Int32,
        request: (OpaquePointer, OpaquePointer?) -> Void,
        read: (OpaquePointer) throws(KafkaError) -> Void
    ) throws(KafkaError) {
        let client = try ClientHandle(
            RD_KAFKA_PRODUCER, properties: properties, context: ClientContext(log: { _ in }), configure: { _ in })
        defer { client.destroy() }
        let queue = rd_kafka_queue_new(client.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        request(client.pointer, queue)
        guard let event = rd_kafka_queue_poll(queue, timeoutMilliseconds) else {
            throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT)
        }
        defer { rd_kafka_event_destroy(event) }
        let code = rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code) }
        try read(event)
    }
}
