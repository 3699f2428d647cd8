import Kafka

/// The headers of a record on the dead-letter topic that give its reason and its origin. `DeadLetterRecord` writes
/// them, `StoredDeadLetter` reads them.
enum DeadLetterHeader: String {
    /// The prefix of every header's name.
    static let prefix = "dead-letter-"

    case reason = "dead-letter-reason"
    case detail = "dead-letter-detail"
    case topic = "dead-letter-topic"
    case partition = "dead-letter-partition"
    case offset = "dead-letter-offset"
    /// The offset of the last record in a batch that could not be read.
    case lastOffset = "dead-letter-last-offset"
    /// The bytes of the value as it was received, if the dead letter has only its beginning.
    case valueLength = "dead-letter-value-length"
    case valueSHA256 = "dead-letter-value-sha256"

    func holding(_ text: String) -> KafkaHeader { KafkaHeader(name: rawValue, value: Array(text.utf8)) }

    /// Returns the header's text; nil if the record has none. The last header counts: a record may have come with such
    /// headers, and receiptd appends its own.
    func text(in record: ConsumerRecord) -> String? {
        record.headers.last { $0.name == rawValue }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
