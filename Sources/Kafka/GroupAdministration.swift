import CRDKafka

/// Deletes consumer groups of a real cluster. librdkafka's in-process broker does not support this request.
public enum GroupAdministration {
    /// Deletes the groups. Blocks. Throws the first error of a group, for example if the group still has members.
    public static func delete(
        _ names: [String], properties: KafkaProperties, timeoutMilliseconds: Int32
    ) throws(KafkaError) {
        let client = try ClientHandle(
            RD_KAFKA_PRODUCER, properties: properties, context: ClientContext(log: { _ in }), configure: { _ in })
        defer { client.destroy() }
        let queue = rd_kafka_queue_new(client.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        var requests: [OpaquePointer?] = names.map { rd_kafka_DeleteGroup_new($0) }
        defer { for request in requests { rd_kafka_DeleteGroup_destroy(request) } }
        rd_kafka_DeleteGroups(client.pointer, &requests, requests.count, nil, queue)
        guard let event = rd_kafka_queue_poll(queue, timeoutMilliseconds) else {
            throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT)
        }
        defer { rd_kafka_event_destroy(event) }
        try KafkaError.check(rd_kafka_event_error(event))
        var count = 0
        let results = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &count)
        for index in 0..<count {
            if let error = rd_kafka_group_result_error(results?[index]) {
                try KafkaError.check(rd_kafka_error_code(error))
            }
        }
    }
}
