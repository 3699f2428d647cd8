import Kafka

/// The headers of a dead letter, which give its reason and its origin. `DeadLetterRecord` writes them, and
/// `StoredDeadLetter` reads them.
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
    /// The number of bytes of the value as received. The header exists only if the dead letter holds only the value's
    /// beginning.
    case valueLength = "dead-letter-value-length"
    case valueSHA256 = "dead-letter-value-sha256"

    func holding(_ text: String) -> KafkaHeader { KafkaHeader(name: rawValue, value: Array(text.utf8)) }

    /// Returns the header's text; nil if the record has no such header. The last header of the name counts, because
    /// receiptd appends its own behind those that the record came with.
    func text(in record: ConsumerRecord) -> String? {
        record.headers.last { $0.name == rawValue }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
