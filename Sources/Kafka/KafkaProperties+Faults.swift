import CRDKafka

/// A property that librdkafka refuses. It is safe to log, because it does not have the property's value.
public struct KafkaPropertyFault: Sendable, Hashable, CustomStringConvertible {
    public let name: String
    public let message: String

    public init(name: String, message: String) {
        self.name = name
        self.message = message
    }

    public var description: String { "\(name): \(message)" }
}

extension KafkaProperties {
    /// Returns the faults that librdkafka finds in single names and values, in the order of the properties.
    /// `refusal(of:)` finds faults in a combination (`session.timeout.ms` above `max.poll.interval.ms`) and unreadable
    /// files.
    public func faults() -> [KafkaPropertyFault] {
        let configuration = rd_kafka_conf_new()
        defer { rd_kafka_conf_destroy(configuration) }
        if let configuration { return apply(to: configuration) }
        return []
    }

    /// Returns a configuration that the caller owns. A successful `rd_kafka_new` takes over the ownership.
    func makeConfiguration() throws(KafkaError) -> OpaquePointer {
        guard let configuration = rd_kafka_conf_new() else { throw KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE) }
        let faults = apply(to: configuration)
        guard faults.isEmpty else {
            rd_kafka_conf_destroy(configuration)
            let list = faults.map(\.description).joined(separator: "; ")
            throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message: list)
        }
        return configuration
    }

    /// Sets the properties, and returns the refused properties. `rd_kafka_conf_set` looks up unknown names in the
    /// default topic configuration. This function does not use librdkafka's own message, because the message quotes the
    /// value.
    private func apply(to configuration: OpaquePointer) -> [KafkaPropertyFault] {
        pairs.compactMap { name, value in
            guard !name.utf8.contains(0), !value.utf8.contains(0) else {
                return KafkaPropertyFault(name: name, message: "a NUL byte is not allowed")
            }
            switch rd_kafka_conf_set(configuration, name, value, nil, 0) {
            case RD_KAFKA_CONF_OK:
                return nil
            case RD_KAFKA_CONF_UNKNOWN:
                let message = "librdkafka \(KafkaLibrary.versionString) has no property of this name"
                return KafkaPropertyFault(name: name, message: message)
            default:
                return KafkaPropertyFault(name: name, message: "librdkafka does not accept the value")
            }
        }
    }
}
