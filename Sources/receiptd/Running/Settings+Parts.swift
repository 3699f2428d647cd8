import AppStore
import Ledger
import Pipeline
import Postgres

extension DatabaseSettings {
    var configuration: PostgresConfiguration {
        PostgresConfiguration(uri: url.value, applicationName: "receiptd", preparedStatements: usesPreparedStatements)
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
