import CRDKafka

/// An error of librdkafka or of a broker. Decide by `code`, never by `message`.
public struct KafkaError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A `rd_kafka_resp_err_t`. Positive codes come from the broker (Kafka protocol), negative codes from librdkafka.
    public let code: Int32
    /// librdkafka's name of the code, such as `ILLEGAL_GENERATION` or `_QUEUE_FULL`.
    public let name: String
    public let message: String
    /// True if the client cannot go on. Its owner must then close the client and create a new client.
    public let isFatal: Bool
    /// True if a repeated call may succeed although nobody changed anything. A record whose delivery failed with a
    /// retriable error may still be in the log, for example after a time-out.
    public let isRetriable: Bool
    /// The partition and offset of the error; nil if the error is not of a partition.
    public internal(set) var place: Place? = nil

    public struct Place: Sendable, Hashable {
        /// The partition, or -1 for an error of the topic as a whole.
        public let topicPartition: TopicPartition
        /// The offset of the error, such as the first offset of an unreadable batch. Negative if the error names no
        /// offset.
        public let offset: Int64

        public init(topicPartition: TopicPartition, offset: Int64) {
            self.topicPartition = topicPartition
            self.offset = offset
        }
    }

    public var description: String { "\(name) (\(code)): \(message)" }
}

extension KafkaError {
    init(_ code: rd_kafka_resp_err_t, message: String? = nil, isFatal: Bool = false, place: Place? = nil) {
        self.place = place
        self.code = code.rawValue
        self.name = String(cString: rd_kafka_err2name(code))
        self.message = message ?? String(cString: rd_kafka_err2str(code))
        self.isFatal = isFatal
        self.isRetriable = !isFatal && Code.retriable.contains(code.rawValue)
    }

    /// Takes ownership of librdkafka's error object, and destroys it.
    init(consuming object: OpaquePointer) {
        let code = rd_kafka_error_code(object)
        place = nil
        let isFatal = rd_kafka_error_is_fatal(object) != 0
        self.code = code.rawValue
        self.name = String(cString: rd_kafka_err2name(code))
        self.message = String(cString: rd_kafka_error_string(object))
        self.isFatal = isFatal
        self.isRetriable =
            !isFatal && (rd_kafka_error_is_retriable(object) != 0 || Code.retriable.contains(code.rawValue))
        rd_kafka_error_destroy(object)
    }

    static func check(_ code: rd_kafka_resp_err_t) throws(KafkaError) {
        if code != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError(code) }
    }

    static func check(_ object: OpaquePointer?) throws(KafkaError) {
        if let object { throw KafkaError(consuming: object) }
    }

    static var closed: KafkaError { KafkaError(RD_KAFKA_RESP_ERR__STATE, message: "the client is closed") }
}
