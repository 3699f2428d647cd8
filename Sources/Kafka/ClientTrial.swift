import CRDKafka

/// Tries whether librdkafka accepts a client's properties. The trial's client has no brokers, and ends at once.
enum ClientTrial {
    /// Throws librdkafka's error if librdkafka refuses the properties. Blocks for some milliseconds, while librdkafka
    /// reads certificates and keys.
    static func run(_ kind: rd_kafka_type_t, _ properties: KafkaProperties) throws(KafkaError) {
        var alone = properties
        for name in ["bootstrap.servers", "metadata.broker.list"] { alone[name] = nil }
        let configuration = try alone.makeConfiguration()
        // Without this, the trial's client would log to standard error.
        rd_kafka_conf_set_log_cb(configuration, nil)
        let (client, message) = withErrorText { text, size in rd_kafka_new(kind, configuration, text, size) }
        guard let client else {
            let code = rd_kafka_last_error()
            // This is sound, because this configuration has no interceptors: see `ClientHandle`.
            rd_kafka_conf_destroy(configuration)
            throw KafkaError(code, message: message)
        }
        rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }
}

extension KafkaProperties {
    public enum Client: Sendable { case consumer, producer }

    /// Returns the reason why librdkafka refuses a client with these properties; nil if the properties are not at
    /// fault. A person must correct refused properties. Unlike `faults`, this function also finds faulty combinations
    /// and unreadable files. Blocks for some milliseconds. The text has no secret.
    public func refusal(of client: Client) -> String? {
        do throws(KafkaError) {
            try ClientTrial.run(client == .consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, self)
            return nil
        } catch {
            return error.code == KafkaError.Code.invalidArgument ? error.message : nil
        }
    }
}
