import Kafka
import Logging
import Operations

enum KafkaLog {
    /// librdkafka's lines at debug, but for what its own level calls an error.
    static func forward(to logger: Logger) -> @Sendable (KafkaLogLine) -> Void {
        { line in
            let isError = line.level <= 3
            logger.log(
                level: isError ? .warning : .debug, "librdkafka says",
                [.detail: "\(line.facility): \(line.message)"])
        }
    }
}
