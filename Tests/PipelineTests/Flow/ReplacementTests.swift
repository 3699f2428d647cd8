import Foundation
import Fulfillment
import Kafka
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Replacement of a Kafka consumer that cannot recover")
struct ReplacementTests {
    @Test(
        "if Kafka fences the consumer's static id, the worker replaces the consumer, and reads unfinished records again"
    )
    func fenced() async throws {
        let bench = try PipelineBench { $0.consumerProperties["group.instance.id"] = "one" }
        let running = try bench.start()
        try await bench.submit("replaced.1", player: "one", partition: 0)
        try await bench.untilAnswered("one", count: 1)
        try await bench.untilCommitted(1, of: 0)
        bench.verifier.hold("replaced.2")
        try await bench.submit("replaced.2", player: "two", partition: 0)
        try await bench.submit("replaced.3", player: "two", partition: 0)
        try await bench.untilAsked("replaced.2")

        bench.cluster.pushRequestErrors(apiKey: 12, [KafkaError.Code.fencedInstanceID])
        let line = "warning the Kafka consumer cannot recover: the worker replaces it"
        try await bench.changes.until("the consumer is replaced") { running.log.holds(line) }
        try await eventually("health says why") {
            running.health.unmet.contains { $0.contains("the same group.instance.id") }
        }
        bench.verifier.release("replaced.2")
        try await bench.submit("replaced.4", player: "two", partition: 0)
        try await bench.changes.until("the last is granted") { bench.answers("two").last == "granted replaced.4" }
        #expect(running.health.unmet.allSatisfy { !$0.contains("Kafka") })
        #expect(Set(bench.answers("two")).count == 3)
        #expect(bench.ledger.decided("two").prefix(3) == ["replaced.2", "replaced.3", "replaced.4"])
        try await bench.untilCommitted(4, of: 0)
        #expect(running.metrics.inFlight.value == 0)
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "if librdkafka cannot create the new consumer, the worker names the cause, and retries until creation succeeds")
    func refused() async throws {
        let certificates = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: certificates, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: certificates) }
        // The cluster has no TLS, so the consumer joins no group. librdkafka reads the certificates when it creates a
        // consumer.
        let bench = try PipelineBench {
            $0.consumerProperties["security.protocol"] = "ssl"
            $0.consumerProperties["ssl.ca.location"] = certificates.path
        }
        let running = try bench.start()
        try await bench.changes.until("the loop runs") { bench.ledger.isWatched }
        bench.ledger.fallBack()
        let replaced = "warning the worker leaves the consumer group and joins it again"
        try await bench.changes.until("the loop gives up the first consumer") { running.log.holds(replaced) }

        try FileManager.default.removeItem(at: certificates)
        try await eventually("health says why") {
            running.health.unmet.contains {
                $0.hasPrefix("the worker cannot create a new Kafka consumer: ") && $0.contains("ssl.ca.location")
            }
        }
        #expect(running.fails("submissions cannot be read"))
        try FileManager.default.createDirectory(at: certificates, withIntermediateDirectories: true)
        // Only a loop that has created a consumer can give it up.
        bench.ledger.fallBack()
        try await bench.changes.until("the loop gives up the second consumer") {
            running.log.lines.count { $0 == replaced } == 2
        }
        try await running.stop()
        try await bench.close()
    }
}
