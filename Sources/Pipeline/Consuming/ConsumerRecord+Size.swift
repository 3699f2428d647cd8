import Kafka

extension [KafkaHeader] {
    /// The approximate size of the headers in memory, in bytes. An empty header has a size too, because a record may
    /// have a million headers.
    var byteCount: Int {
        reduce(0) { $0 + PipelineLimits.bytesPerHeader + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }
}

extension ConsumerRecord {
    /// The approximate size of the record in memory, in bytes.
    var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) + headers.byteCount }

    var withoutValue: ConsumerRecord {
        ConsumerRecord(
            topicPartition: topicPartition, offset: offset, timestampMilliseconds: timestampMilliseconds, key: key,
            headers: headers)
    }
}
