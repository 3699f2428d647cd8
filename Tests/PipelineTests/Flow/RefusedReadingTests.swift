import Kafka
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Kafka rights that the worker's consumer lacks")
struct RefusedReadingTests {
    private static let fetch: Int16 = 1

    @Test(
        "if Kafka denies reading the topic, the worker is not ready, and names the cause; once allowed, it continues",
        .timeLimit(.minutes(5)))
    func reading() async throws {
        let bench = try PipelineBench { $0.consumerProperties["enable.partition.eof"] = "true" }
        try await bench.submit("read", player: "reader", partition: 0)
        bench.cluster.pushRequestErrors(
            apiKey: Self.fetch, Array(repeating: KafkaError.Code.topicAuthorizationFailed, count: 100_000))
        let running = try bench.start()
        // A log line follows the change of health, and raises `changes`.
        try await bench.changes.until("the worker is not ready, and says why") {
            running.health.unmet.contains("Kafka does not allow reading topic \(Sample.submissions)")
        }
        bench.cluster.clearRequestErrors(apiKey: Self.fetch)
        try await bench.untilAnswered("reader", ["granted read"])
        try await eventually("it is ready again") { !running.health.unmet.contains { $0.contains("does not allow") } }
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "if Kafka denies joining the group, the worker is not ready, and names the cause; once allowed, it continues",
        .timeLimit(.minutes(5)))
    func group() async throws {
        let bench = try PipelineBench()
        let join: Int16 = 11
        bench.cluster.pushRequestErrors(
            apiKey: join, Array(repeating: KafkaError.Code.groupAuthorizationFailed, count: 100_000))
        let running = try bench.start()
        try await bench.changes.until("the worker is not ready, and says why") {
            running.health.unmet.contains("Kafka does not allow using the consumer group")
        }
        bench.cluster.clearRequestErrors(apiKey: join)
        try await bench.submit("joined", player: "member", partition: 0)
        try await bench.untilAnswered("member", ["granted joined"])
        #expect(!running.health.unmet.contains { $0.contains("does not allow") })
        try await running.stop()
        try await bench.close()
    }
}
