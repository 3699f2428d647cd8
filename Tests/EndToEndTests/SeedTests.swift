import AppStoreSimulation
import Foundation
import Kafka
import Testing

@testable import Demo

extension EndToEnd {
    @Test("the worker answers every sample case with the outcomes that the case expects", .takesLong)
    func seeds() async throws {
        let cases = try SeedCase.loadAll(in: Seeds.directory)
        // The test counts requests. With a short time-out, a busy machine would repeat some requests.
        try await Testbed.run(settings: ["APPLE_TIMEOUT_SECONDS": "8"]) { bed in
            for arrangement in cases.flatMap(\.arrangements) { bed.apple.register(arrangement) }
            let properties = KafkaProperties([("bootstrap.servers", bed.parts.bootstrapServers)])
            let (outcomes, deadLetters) = (bed.parts.outcomesTopic, bed.parts.deadLettersTopic)
            let collector = try await blocking {
                try OutcomeCollector(outcomesTopic: outcomes, deadLettersTopic: deadLetters, properties: properties)
            }
            defer { collector.stop() }
            try bed.startWorker()
            let replay = SeedReplay(
                cases: cases, producer: bed.producer, collector: collector,
                submissionsTopic: bed.parts.submissionsTopic, notificationsTopic: bed.parts.notificationsTopic,
                accountsTopic: bed.parts.accountsTopic,
                notificationsDone: { try await bed.parts.notificationsDone(in: bed.pool) },
                database: bed.pool, apple: bed.apple)
            for result in try await replay.run(progress: { _, _ in }) {
                #expect(result.differences.isEmpty, "\(result.seed.name): \(result.differences)")
            }
        }
    }
}
