import CRDKafka

extension KafkaConsumer {
    /// The handlers of a rebalance. `poll` and `close` call them on the polling thread. The group waits for them for up
    /// to `max.poll.interval.ms`.
    public struct Rebalance {
        /// A handler that returns start offsets for some or all of the assigned partitions. These offsets replace the
        /// committed offsets.
        public var assigned: ([TopicPartition]) -> [TopicPartition: Int64]
        /// Runs before the partitions are revoked, and should drain and commit synchronously. If `lost` is true,
        /// another member may own the partitions already, and the broker would refuse the commit.
        public var revoked: (_ partitions: [TopicPartition], _ lost: Bool) -> Void

        public init(
            assigned: @escaping ([TopicPartition]) -> [TopicPartition: Int64] = { _ in [:] },
            revoked: @escaping (_ partitions: [TopicPartition], _ lost: Bool) -> Void = { _, _ in }
        ) {
            self.assigned = assigned
            self.revoked = revoked
        }
    }

    static func setCallbacks(_ configuration: OpaquePointer) {
        rd_kafka_conf_set_rebalance_cb(configuration) { client, code, partitions, opaque in
            guard let client, let partitions, let context = ClientContext.of(opaque) else { return }
            KafkaConsumer.rebalance(client, code, partitions, context)
        }
        rd_kafka_conf_set_offset_commit_cb(configuration) { _, code, offsets, opaque in
            // The local constant keeps the handler alive during the call, in which the handler may replace itself.
            guard let onCommit = ClientContext.of(opaque)?.onCommit else { return }
            onCommit(Result { () throws(KafkaError) in try KafkaConsumer.commitResult(code, offsets) })
        }
        rd_kafka_conf_set_error_cb(configuration) { _, code, reason, opaque in
            let error = KafkaError(rd_kafka_resp_err_t(code), message: reason.map { String(cString: $0) })
            ClientContext.of(opaque)?.log(KafkaLogLine(event: error))
        }
    }

    private static func rebalance(
        _ client: OpaquePointer,
        _ code: rd_kafka_resp_err_t,
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>,
        _ context: ClientContext
    ) {
        // A cooperative rebalance adds or removes some partitions of the assignment; an eager one replaces all.
        let isCooperative = rd_kafka_rebalance_protocol(client).map { String(cString: $0) } == "COOPERATIVE"
        let handlers = context.rebalance
        do throws(KafkaError) {
            switch code {
            case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
                let starts = handlers?.assigned(PartitionList.partitions(list)) ?? [:]
                let elements = PartitionList.elements(list)
                for index in elements.indices {
                    if let start = starts[TopicPartition(elements[index])] { elements[index].offset = start }
                }
                if isCooperative {
                    try KafkaError.check(rd_kafka_incremental_assign(client, list))
                } else {
                    try KafkaError.check(rd_kafka_assign(client, list))
                }
            case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
                handlers?.revoked(PartitionList.partitions(list), rd_kafka_assignment_lost(client) != 0)
                context.resumeLeaving(PartitionList.partitions(list), client: client)
                if isCooperative {
                    try KafkaError.check(rd_kafka_incremental_unassign(client, list))
                } else {
                    try KafkaError.check(rd_kafka_assign(client, nil))
                }
            default:
                context.log(KafkaLogLine(event: KafkaError(code)))
                // The group protocol waits for a call of `rd_kafka_assign` after every event.
                try KafkaError.check(rd_kafka_assign(client, nil))
            }
        } catch {
            context.log(KafkaLogLine(event: error))
        }
    }
}
