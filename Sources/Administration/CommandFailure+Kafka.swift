import Kafka
import ReceiptdConfiguration

extension CommandFailure {
    /// Makes the failure for a Kafka that cannot be used, with what its clients last said about the brokers. Exit code
    /// 78 if Kafka refuses the name, password or mechanism, otherwise 69.
    package init(kafka error: any Error, _ recorder: TroubleRecorder) {
        if let failure = error as? CommandFailure {
            self = failure
            return
        }
        let trouble = recorder.trouble
        // A positive code is a broker's own answer: Kafka is within reach.
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

    /// Makes the failure for a client that could not be made, although the settings were read: a file that they name
    /// may have changed since.
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
    /// Reads the whole cluster's metadata for a command. It gives up as soon as waiting is useless.
    /// - Parameter ask: gets a time-out in milliseconds.
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
