import Fulfillment
import Kafka

/// Makes a record for the dead-letter topic from the original key, value and headers, and the reason.
enum DeadLetterRecord {
    static func make(
        _ letter: DeadLetter, of record: ConsumerRecord, position: RecordPosition, topic: String
    ) -> ProducerRecord {
        ProducerRecord(
            topic: topic, partition: nil, key: record.key, value: record.value,
            headers: record.headers + headers(letter, position), timestampMilliseconds: nil)
    }

    /// Makes an excerpt for a topic that refuses the whole value as too large. The excerpt has the beginning of the
    /// value, its length and its SHA-256.
    static func excerpt(
        _ letter: DeadLetter, of record: ConsumerRecord, position: RecordPosition, topic: String
    ) -> ProducerRecord {
        let value = record.value ?? []
        let digest = position.content.bytes.map { byte in
            String(byte >> 4, radix: 16) + String(byte & 0xF, radix: 16)
        }.joined()
        let facts = [
            DeadLetterHeader.valueLength.holding(String(value.count)), DeadLetterHeader.valueSHA256.holding(digest),
        ]
        // A too large key, or too large headers, are left out. People can then find the record by its position.
        let isShortKey = (record.key?.count ?? 0) <= PipelineLimits.deadLetterExcerptBytes
        let kept = record.headers.byteCount <= PipelineLimits.deadLetterExcerptBytes ? record.headers : []
        return ProducerRecord(
            topic: topic, partition: nil, key: isShortKey ? record.key : nil,
            value: Array(value.prefix(PipelineLimits.deadLetterExcerptBytes)),
            headers: kept + headers(letter, position) + facts, timestampMilliseconds: nil)
    }

    private static func headers(_ letter: DeadLetter, _ position: RecordPosition) -> [KafkaHeader] {
        [
            DeadLetterHeader.reason.holding(letter.reason.rawValue),
            DeadLetterHeader.detail.holding(letter.detail),
            DeadLetterHeader.topic.holding(position.topic),
            DeadLetterHeader.partition.holding(String(position.partition)),
            DeadLetterHeader.offset.holding(String(position.offset)),
        ] + (letter.lastOffset.map { [DeadLetterHeader.lastOffset.holding(String($0))] } ?? [])
    }
}

extension KafkaError {
    /// True for `RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE` (10), from the broker or from the producer's own limit.
    var isMessageTooLarge: Bool { code == 10 }
}
