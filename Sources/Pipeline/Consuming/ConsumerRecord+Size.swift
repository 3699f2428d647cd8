import Kafka

extension [KafkaHeader] {
    /// Bytes that they take in memory, about: one that is all empty takes some too, and a record may hold a million.
    var byteCount: Int {
        reduce(0) { $0 + PipelineLimits.bytesPerHeader + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }
}

extension ConsumerRecord {
    /// Bytes that it holds in memory, about.
    var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) + headers.byteCount }

    var withoutValue: ConsumerRecord {
        ConsumerRecord(
            topicPartition: topicPartition, offset: offset, timestampMilliseconds: timestampMilliseconds, key: key,
            headers: headers)
    }
}
