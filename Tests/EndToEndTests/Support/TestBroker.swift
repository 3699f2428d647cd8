import AppStoreSimulation
import Foundation
import Testing

@testable import Demo

/// The broker of these tests: librdkafka's in-process broker, or a real broker for `make test-kafka`. Each test has its
/// own topics and its own consumer group.
enum TestBroker {
    /// The addresses of the real broker. The variable's name differs from the name of receiptd's setting, so that tests
    /// never use a deployment's broker.
    private static let bootstrapServers = set("TEST_KAFKA_BOOTSTRAP_SERVERS")
    private static let properties = set("TEST_KAFKA_PROPERTIES")

    static let isReal = bootstrapServers != nil

    /// The environment for `EmbeddedParts`.
    static var environment: [String: String] {
        var environment: [String: String] = [:]
        environment["KAFKA_BOOTSTRAP_SERVERS"] = bootstrapServers
        environment["KAFKA_PROPERTIES"] = properties
        return environment
    }

    /// The Kafka properties of workers. The in-process broker lets a killed member join again a second before its
    /// session ends, and refuses a session below 3 s. A real broker refuses a session below 6 s by default.
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
    /// Starts the services with this broker and the given database. If `uri` is nil, the services include a PostgreSQL
    /// server with the sample catalog, which the test may stop.
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
    static var onlyInProcessBroker: Self {
        .disabled(if: TestBroker.isReal, "the in-process broker's own faults and ways")
    }
}
