import Kafka
import Ledger

/// A record of the dead-letter topic, as its headers tell.
struct StoredDeadLetter: Sendable, Comparable {
    /// Of every header that says why a record is there.
    static let prefix = "dead-letter-"

    let place: TopicPartition
    let offset: Int64
    let timestampMilliseconds: Int64?
    let reason: String
    let detail: String
    let sourceTopic: String
    let sourcePartition: Int32?
    let sourceOffset: Int64?
    /// Bytes of the value as it was received.
    let length: Int
    /// Only the value's beginning is here.
    let isExcerpt: Bool
    /// Nil where only what is above is kept.
    let record: ConsumerRecord?

    init(_ record: ConsumerRecord) {
        // The last one: a record may have come with such headers, and ours stand behind them.
        func text(_ name: String) -> String? {
            record.headers.last { $0.name == Self.prefix + name }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        let fullLength = text("value-length").flatMap { Int($0) }
        self.init(
            place: record.topicPartition, offset: record.offset, timestampMilliseconds: record.timestampMilliseconds,
            reason: text("reason") ?? "", detail: text("detail") ?? "", sourceTopic: text("topic") ?? "",
            sourcePartition: text("partition").flatMap { Int32($0) },
            sourceOffset: text("offset").flatMap { Int64($0) },
            length: fullLength ?? record.value?.count ?? 0, isExcerpt: fullLength != nil, record: record)
    }

    private init(
        place: TopicPartition, offset: Int64, timestampMilliseconds: Int64?, reason: String, detail: String,
        sourceTopic: String, sourcePartition: Int32?, sourceOffset: Int64?, length: Int, isExcerpt: Bool,
        record: ConsumerRecord?
    ) {
        self.place = place
        self.offset = offset
        self.timestampMilliseconds = timestampMilliseconds
        self.reason = reason
        self.detail = detail
        self.sourceTopic = sourceTopic
        self.sourcePartition = sourcePartition
        self.sourceOffset = sourceOffset
        self.length = length
        self.isExcerpt = isExcerpt
        self.record = record
    }

    var withoutRecord: StoredDeadLetter {
        StoredDeadLetter(
            place: place, offset: offset, timestampMilliseconds: timestampMilliseconds, reason: reason, detail: detail,
            sourceTopic: sourceTopic, sourcePartition: sourcePartition, sourceOffset: sourceOffset, length: length,
            isExcerpt: isExcerpt, record: nil)
    }

    /// Nil where the headers do not tell it: then it is no dead letter of ours.
    var source: RedrivenStore.Place? {
        guard !sourceTopic.isEmpty, let sourcePartition, let sourceOffset else { return nil }
        return RedrivenStore.Place(
            topic: sourceTopic, partition: sourcePartition, offset: sourceOffset, value: record?.value)
    }

    /// As it first came: with its key, its value and its own headers.
    func original(to topic: String) -> ProducerRecord? {
        guard let record, !isExcerpt, source != nil else { return nil }
        return ProducerRecord(
            topic: topic, partition: nil, key: record.key, value: record.value,
            headers: record.headers.filter { !$0.name.hasPrefix(Self.prefix) }, timestampMilliseconds: nil)
    }

    static func == (left: StoredDeadLetter, right: StoredDeadLetter) -> Bool {
        (left.place, left.offset) == (right.place, right.offset)
    }

    /// By time, as far as it is known.
    static func < (left: StoredDeadLetter, right: StoredDeadLetter) -> Bool {
        (left.timestampMilliseconds ?? 0, left.place, left.offset)
            < (right.timestampMilliseconds ?? 0, right.place, right.offset)
    }
}
