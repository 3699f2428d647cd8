import Kafka

extension [KafkaHeader] {
    /// The approximate bytes that the headers take in memory. An empty header takes some too, and a record may have a
    /// million headers.
    var byteCount: Int {
        reduce(0) { $0 + PipelineLimits.bytesPerHeader + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }
}

extension ConsumerRecord {
    /// The approximate bytes that the record takes in memory.
    var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) + headers.byteCount }

    var withoutValue: ConsumerRecord {
        ConsumerRecord(
            topicPartition: topicPartition, offset: offset, timestampMilliseconds: timestampMilliseconds, key: key,
            headers: headers)
    }
}
