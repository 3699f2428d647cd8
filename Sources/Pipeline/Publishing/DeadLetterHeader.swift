import Kafka

/// The headers of a dead letter: its reason, and the position of the original record. `DeadLetterRecord` writes them,
/// and `StoredDeadLetter` reads them.
enum DeadLetterHeader: String {
    static let prefix = "dead-letter-"

    case reason = "dead-letter-reason"
    case detail = "dead-letter-detail"
    case topic = "dead-letter-topic"
    case partition = "dead-letter-partition"
    case offset = "dead-letter-offset"
    /// The last offset of an unreadable batch.
    case lastOffset = "dead-letter-last-offset"
    /// The length of the original value in bytes. The header exists only if the dead letter has only the beginning of
    /// the value.
    case valueLength = "dead-letter-value-length"
    case valueSHA256 = "dead-letter-value-sha256"

    func holding(_ text: String) -> KafkaHeader { KafkaHeader(name: rawValue, value: Array(text.utf8)) }

    /// Returns the header's text; nil if the record does not have the header. Of several headers with the name the last
    /// counts, because receiptd appends its headers to the original ones.
    func text(in record: ConsumerRecord) -> String? {
        record.headers.last { $0.name == rawValue }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
