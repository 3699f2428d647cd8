import Kafka

/// The headers of a record on the dead-letter topic that say why it is there and where it came from. `DeadLetterRecord`
/// writes them, `StoredDeadLetter` reads them.
enum DeadLetterHeader: String {
    /// The prefix of every header.
    static let prefix = "dead-letter-"

    case reason = "dead-letter-reason"
    case detail = "dead-letter-detail"
    case topic = "dead-letter-topic"
    case partition = "dead-letter-partition"
    case offset = "dead-letter-offset"
    /// The last record's offset of a batch that could not be read.
    case lastOffset = "dead-letter-last-offset"
    /// Bytes of the value as it was received, where only its beginning is here.
    case valueLength = "dead-letter-value-length"
    case valueSHA256 = "dead-letter-value-sha256"

    func holding(_ text: String) -> KafkaHeader { KafkaHeader(name: rawValue, value: Array(text.utf8)) }

    /// Nil where the record has none. The last one counts: a record may have come with such headers, and ours come
    /// after them.
    func text(in record: ConsumerRecord) -> String? {
        record.headers.last { $0.name == rawValue }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
