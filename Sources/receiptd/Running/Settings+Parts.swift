import Administration
import Ledger
import Pipeline
import Postgres
import ReceiptdConfiguration

extension DatabaseSettings {
    /// The configuration of a worker's sessions.
    var workerConfiguration: PostgresConfiguration { configuration(PostgresLedger.sessionSettings) }
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
        pipeline.apple.concurrency = apple.maxConcurrency
        pipeline.apple.consumptionWaitSeconds = announcements.consumptionWaitSeconds
        pipeline.apple.refusalChecksPerMinute = apple.localRefusalChecksPerMinute
        pipeline.signingKeys = submissionSigningKeys.map(\.value)
        pipeline.shutdownGraceSeconds = shutdownGraceSeconds
        return pipeline
    }
}
