import AppStoreSimulation
import Foundation
import Testing

@testable import Demo

/// The broker of these tests: librdkafka's in-process broker, or a real broker that `make test-kafka` names. Each test
/// has its own topics and its own consumer group.
enum TestBroker {
    /// The setting's name differs from a deployment's, so that tests never touch the deployment's broker.
    private static let bootstrapServers = set("TEST_KAFKA_BOOTSTRAP_SERVERS")
    private static let properties = set("TEST_KAFKA_PROPERTIES")

    static let isReal = bootstrapServers != nil

    /// The environment that `EmbeddedParts` reads.
    static var environment: [String: String] {
        var environment: [String: String] = [:]
        environment["KAFKA_BOOTSTRAP_SERVERS"] = bootstrapServers
        environment["KAFKA_PROPERTIES"] = properties
        return environment
    }

    /// The Kafka properties of workers. The in-process broker takes a member back after its session less a second, and
    /// refuses a session below 3 s. A real broker by default refuses a session below 6 s.
    static var workerProperties: String {
        let session = isReal ? "6000" : "3200"
        let own = "session.timeout.ms=\(session);heartbeat.interval.ms=300;reconnect.backoff.max.ms=500"
        return [properties, own].compactMap { $0 }.joined(separator: ";")
    }

    private static func set(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension EmbeddedParts {
    /// Starts the parts on the tests' broker and the given database. Where `uri` is nil, the parts have their own
    /// PostgreSQL server with the seeds' catalog, which the test may stop.
    static func start(
        database uri: String?, brokers: Int32 = 1, partitions: Int32 = partitions, latency: SimulatedLatency,
        appleOptions: AppStoreSimulation.Options
    ) async throws -> EmbeddedParts {
        let database = uri.map { ["DATABASE_URL": $0] } ?? [:]
        let parts = try await start(
            environment: TestBroker.environment.merging(database) { _, own in own },
            brokers: brokers, partitions: partitions, latency: latency, appleOptions: appleOptions)
        if uri == nil { try await Seeds.prepare(parts.databaseURL) }
        return parts
    }
}

extension Trait where Self == ConditionTrait {
    /// The trait of tests that only the in-process broker can run.
    static var onlyInProcessBroker: Self {
        .disabled(if: TestBroker.isReal, "the in-process broker's own faults and ways")
    }
}
