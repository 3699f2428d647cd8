import Kafka
import ReceiptdConfiguration

extension CommandFailure {
    /// Makes the failure of a command that cannot use Kafka. The message contains the last fault that the client
    /// logged. If Kafka refuses the user's name, the password or the SASL mechanism, the exit code is 78, otherwise 69.
    package init(kafka error: any Error, _ recorder: TroubleRecorder) {
        if let failure = error as? CommandFailure {
            self = failure
            return
        }
        let trouble = recorder.trouble
        // A positive code comes from a broker, so Kafka can be reached.
        if trouble == nil, let error = error as? KafkaError, error.code > 0 {
            self.init("Kafka answers: \(error.message) (\(error.name))", code: Self.unavailable)
            return
        }
        let words = trouble.map { "\($0)" } ?? (error as? KafkaError).map { "no answer (\($0.name))" } ?? "no answer"
        switch trouble?.kind {
        case .authentication:
            self.init("Kafka refuses the settings: \(words)", code: Self.wrongSettings)
        case .tls, .transport, nil:
            self.init("Kafka is out of reach: \(words)", code: Self.unavailable)
        }
    }

    /// Makes the failure of a command that cannot make a Kafka client, although the settings were valid. A file that
    /// the settings name may have changed since.
    package init(uncaught error: KafkaError) {
        guard error.code == KafkaError.Code.invalidArgument else {
            self.init("\(error)", code: 1)
            return
        }
        let setting = SettingName.kafkaProperties.rawValue
        self.init(
            "\(setting): librdkafka cannot make a client with these properties: \(error.message)",
            code: Self.wrongSettings)
    }
}

extension KafkaClusterMetadata {
    /// Reads the metadata of the whole cluster. Throws a `CommandFailure` after 10 s, or earlier if a further try
    /// cannot succeed.
    /// - Parameter ask: reads the metadata within a time limit in milliseconds.
    package static func reach(
        _ recorder: TroubleRecorder, ask: (Int32) throws -> KafkaClusterMetadata
    ) throws -> KafkaClusterMetadata {
        for second in 1... {
            do { return try ask(1000) } catch {
                let isHopeless = recorder.trouble.map { $0.kind > .transport } ?? false
                guard second < Self.reachSeconds, !isHopeless, (error as? KafkaError)?.isRetriable ?? false else {
                    throw CommandFailure(kafka: error, recorder)
                }
            }
        }
        throw CommandFailure("Kafka is out of reach", code: CommandFailure.unavailable)
    }

    private static let reachSeconds = 10
}
