import AppStoreSimulation
import Foundation
import Testing

@testable import Demo

/// The broker of these tests: librdkafka's in-process one, or a real one that `make test-kafka` names. Each test has topics
/// and a group of its own there.
enum TestBroker {
    /// Names of their own: tests must not touch the broker that a deployment's settings name.
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

    /// The properties of workers. The in-process broker takes a member back after its session less a second, and no
    /// session below 3 s; a real one allows none below 6 s unless it is told to.
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
    /// Starts on the tests' broker, and on the given database. Without one on a server of its own, with the catalog of
    /// the seeds, which the test may stop.
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
    /// The trait of tests that need the in-process broker for something that only it can do.
    static var onlyInProcessBroker: Self {
        .disabled(if: TestBroker.isReal, "the in-process broker's own faults and ways")
    }
}
