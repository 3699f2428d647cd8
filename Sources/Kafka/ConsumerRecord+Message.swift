import CRDKafka
import Foundation

extension ConsumerRecord {
    /// Copies each byte of the message once. The caller may destroy the message afterwards.
    init(_ message: UnsafePointer<rd_kafka_message_t>, topic: String) {
        var timestampType = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let timestamp = rd_kafka_message_timestamp(message, &timestampType)
        let isStamped = timestampType != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && timestamp >= 0
        self.init(
            topicPartition: TopicPartition(topic: topic, partition: message.pointee.partition),
            offset: message.pointee.offset,
            timestampMilliseconds: isStamped ? timestamp : nil,
            key: [UInt8](copying: message.pointee.key, count: message.pointee.key_len),
            value: [UInt8](copying: message.pointee.payload, count: message.pointee.len),
            headers: Self.headers(of: message)
        )
    }

    private static func headers(of message: UnsafePointer<rd_kafka_message_t>) -> [KafkaHeader] {
        var list: OpaquePointer?
        guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list else { return [] }
        let count = rd_kafka_header_cnt(list)
        var headers: [KafkaHeader] = []
        headers.reserveCapacity(count)
        for index in 0..<count {
            var name: UnsafePointer<CChar>?
            var value: UnsafeRawPointer?
            var size = 0
            guard rd_kafka_header_get_all(list, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR, let name
            else { break }
            headers.append(KafkaHeader(name: String(cString: name), value: [UInt8](copying: value, count: size)))
        }
        return headers
    }
}

extension [UInt8] {
    /// Creates nil for Kafka's null, which differs from the empty array.
    fileprivate init?(copying bytes: UnsafeRawPointer?, count: Int) {
        guard let bytes else { return nil }
        self.init(unsafeUninitializedCapacity: count) { buffer, initialized in
            if let start = buffer.baseAddress { memcpy(start, bytes, count) }
            initialized = count
        }
    }
}
