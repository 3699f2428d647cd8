import AppStore
import Ledger
import Pipeline
import Postgres

extension DatabaseSettings {
    /// For a command's sessions.
    var configuration: PostgresConfiguration { configuration([:]) }

    /// For a worker's.
    var workerConfiguration: PostgresConfiguration { configuration(PostgresLedger.sessionSettings) }

    private func configuration(_ sessionSettings: [String: String]) -> PostgresConfiguration {
        PostgresConfiguration(
            uri: url.value, applicationName: "receiptd", preparedStatements: usesPreparedStatements,
            preparedSessionSettings: sessionSettings)
    }
}

extension AppleSettings {
    var client: AppStore.AppleSettings {
        AppStore.AppleSettings(
            productionURL: verifyReceiptProductionURL, sandboxURL: verifyReceiptSandboxURL,
            serverAPIProductionURL: serverAPIProductionURL, serverAPISandboxURL: serverAPISandboxURL,
            timeoutSeconds: timeoutSeconds, maxConcurrency: maxConcurrency, caFile: caFile)
    }
}

extension Settings {
    var pipeline: PipelineSettings {
        let clients = KafkaClientProperties(settings: kafka)
        var pipeline = PipelineSettings(
            consumerProperties: clients.consumer, producerProperties: clients.producer)
        pipeline.submissionsTopic = kafka.submissionsTopic
        pipeline.outcomesTopic = kafka.outcomesTopic
        pipeline.deadLettersTopic = kafka.deadLettersTopic
        pipeline.maximumInFlight = maxInFlight
        pipeline.retry = retry.delay
        pipeline.parkAfterSeconds = retry.parkAfterSeconds
        pipeline.appleConcurrency = apple.maxConcurrency
        pipeline.signingKeys = submissionSigningKeys.map(\.value)
        pipeline.shutdownGraceSeconds = shutdownGraceSeconds
        return pipeline
    }
}
