import CRDKafka

/// A line of librdkafka's log, or an event of the whole client (all brokers down, authentication failed).
public struct KafkaLogLine: Sendable, Hashable {
    /// Syslog's severity: 0 to 2 fatal, 3 error, 4 warning, 5 notice, 6 info, 7 debug.
    public let level: Int32
    /// librdkafka's short name for the line's origin, such as `FAIL` or `CONFWARN`. `ERROR` for an event, `ANSWER` for
    /// the end of all brokers' trouble.
    public let facility: String
    public let message: String
    /// An event's error code; nil for a log line.
    public let code: Int32?

    public init(level: Int32, facility: String, message: String, code: Int32? = nil) {
        self.level = level
        self.facility = facility
        self.message = message
        self.code = code
    }

    init(event error: KafkaError) {
        self.init(level: error.isFatal ? 2 : 3, facility: "ERROR", message: error.description, code: error.code)
    }
}
