import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka
import Ledger
import Postgres
import ReceiptdConfiguration

/// The services that a worker needs: PostgreSQL, Kafka and a simulated Apple, all started for this run. If
/// `environment` names a real PostgreSQL or Kafka (`DATABASE_URL`, `KAFKA_BOOTSTRAP_SERVERS`), the run uses that
/// server. The run has a schema, topics and groups of its own there, and drops them at the end.
final class EmbeddedParts: Sendable {
    static let partitions: Int32 = 4

    let partitionCount: Int32
    let databaseURL: String
    let bootstrapServers: String
    let apple: AppStoreSimulation
    let submissionsTopic: String
    let outcomesTopic: String
    let deadLettersTopic: String
    let notificationsTopic: String
    let accountsTopic: String
    let consumptionTopic: String
    let groupID: String
    let postgres: EmbeddedPostgres?
    let broker: MockCluster?
    private let scratchSchema: (uri: String, name: String)?
    /// The librdkafka properties with which a client connects to Kafka.
    let kafkaProperties: KafkaProperties
    /// The operator's `KAFKA_PROPERTIES` for a real Kafka.
    private let givenProperties: String

    static func start(
        environment: [String: String], brokers: Int32 = 1, partitions: Int32 = partitions,
        latency: SimulatedLatency = .fixed(0), appleOptions: AppStoreSimulation.Options = .init()
    ) async throws -> EmbeddedParts {
        let apple = try await startApple(latency: latency, options: appleOptions)
        return try await blocking {
            try EmbeddedParts(environment: environment, brokers: brokers, partitions: partitions, apple: apple)
        }
    }

    /// Starts the simulated Apple on a fixed port, so that it can listen on the port again after an outage. If another
    /// process takes the port first, tries another port.
    private static func startApple(
        latency: SimulatedLatency, options: AppStoreSimulation.Options
    ) async throws -> AppStoreSimulation {
        for _ in 1..<5 {
            let port = try FreePort.find()
            if let apple = try? await AppStoreSimulation.start(port: port, latency: latency, options: options) {
                return apple
            }
        }
        return try await AppStoreSimulation.start(port: try FreePort.find(), latency: latency, options: options)
    }

    private init(
        environment: [String: String], brokers: Int32, partitions: Int32, apple: AppStoreSimulation
    ) throws {
        self.apple = apple
        partitionCount = partitions
        let mark = "receiptd_demo_\(UInt32.random(in: .min ... .max))"
        if let uri = environment["DATABASE_URL"], !uri.isEmpty {
            postgres = nil
            scratchSchema = (uri, mark)
            databaseURL = uri + (uri.contains("?") ? "&" : "?") + "options=-csearch_path%3D\(mark)"
        } else {
            let server = try EmbeddedPostgres.start()
            postgres = server
            scratchSchema = nil
            databaseURL = server.uri
        }
        let isReal = environment["KAFKA_BOOTSTRAP_SERVERS"].map { !$0.isEmpty } ?? false
        givenProperties = environment["KAFKA_PROPERTIES"] ?? ""
        let prefix = isReal ? mark.replacing("_", with: "-") + "-" : ""
        submissionsTopic = prefix + "receipt-submissions"
        outcomesTopic = prefix + "receipt-outcomes"
        deadLettersTopic = prefix + "receipt-dead-letters"
        notificationsTopic = prefix + "app-store-notifications"
        accountsTopic = prefix + "player-accounts"
        consumptionTopic = prefix + "receipt-consumption"
        groupID = prefix + "receiptd"
        let topics = [
            submissionsTopic, outcomesTopic, deadLettersTopic, notificationsTopic, accountsTopic, consumptionTopic,
        ]
        let counts = Dictionary(uniqueKeysWithValues: topics.map { ($0, partitions) })
        if isReal, let servers = environment["KAFKA_BOOTSTRAP_SERVERS"] {
            broker = nil
            bootstrapServers = servers
            let given = try Settings.Reader(environment: environment).read(requiring: [.kafka])
            kafkaProperties = KafkaProperties([("bootstrap.servers", servers)] + given.kafka.properties.pairs)
            try TopicAdministration.create(counts, properties: kafkaProperties, timeoutMilliseconds: 30_000)
            try TopicAdministration.awaitLeaders(
                of: counts, properties: kafkaProperties, timeoutMilliseconds: 30_000)
        } else {
            let cluster = try MockCluster(brokerCount: brokers, topics: counts)
            broker = cluster
            bootstrapServers = cluster.bootstrapServers
            kafkaProperties = KafkaProperties([("bootstrap.servers", cluster.bootstrapServers)])
        }
    }

    func migrate() async throws {
        if let scratchSchema {
            try await withPool(scratchSchema.uri) { pool in
                try await pool.run { try $0.run(script: "CREATE SCHEMA \(scratchSchema.name)") }
            }
        }
        try await withPool(databaseURL) { pool in try await pool.run { try Schema.migrate($0) } }
    }

    /// Returns the environment of a worker that uses these services.
    func workerEnvironment(adding more: [String: String] = [:]) -> [String: String] {
        let own = [
            "KAFKA_BOOTSTRAP_SERVERS": bootstrapServers,
            "KAFKA_GROUP_ID": groupID,
            "KAFKA_SUBMISSIONS_TOPIC": submissionsTopic,
            "KAFKA_OUTCOMES_TOPIC": outcomesTopic,
            "KAFKA_DEAD_LETTERS_TOPIC": deadLettersTopic,
            "KAFKA_NOTIFICATIONS_TOPIC": notificationsTopic,
            "KAFKA_ACCOUNTS_TOPIC": accountsTopic,
            "KAFKA_CONSUMPTION_TOPIC": consumptionTopic,
            "DATABASE_URL": databaseURL,
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": apple.productionURL,
            "APPLE_VERIFY_RECEIPT_SANDBOX_URL": apple.sandboxURL,
            "APPLE_SERVER_API_PRODUCTION_URL": apple.serverAPIProductionURL,
            "APPLE_SERVER_API_SANDBOX_URL": apple.serverAPISandboxURL,
            "HTTP_PORT": "0",
        ]
        // The in-process broker lets a killed worker join again only after its session, so sessions are short.
        let brokers =
            broker == nil
            ? ["KAFKA_PROPERTIES": givenProperties]
            : ["KAFKA_PROPERTIES": "session.timeout.ms=4000;heartbeat.interval.ms=500"]
        return own.merging(brokers) { first, _ in first }.merging(more) { _, given in given }
    }

    /// Returns the number of notifications that workers have checkpointed. The topic must have been empty at the start.
    func notificationsDone(in pool: PostgresPool) async throws -> Int64 {
        let topic = notificationsTopic
        return try await pool.run { session in
            try session.execute(
                PostgresStatement(
                    "SELECT coalesce(sum(next_offset), 0)::int8 FROM offset_checkpoints WHERE topic = $1"),
                [.text(topic)]
            ).int8(0, 0) ?? 0
        }
    }

    func withPool<Value>(_ uri: String, _ body: (PostgresPool) async throws -> Value) async throws -> Value {
        let pool = PostgresPool(
            configuration: PostgresConfiguration(uri: uri, applicationName: "receiptd demo"), size: 1)
        do {
            let value = try await body(pool)
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Removes everything that the run created. Ignores errors.
    func stop() async {
        if let scratchSchema {
            try? await withPool(scratchSchema.uri) { pool in
                try await pool.run { try $0.run(script: "DROP SCHEMA IF EXISTS \(scratchSchema.name) CASCADE") }
            }
        }
        try? await apple.shutdown()
        _ = try? await blocking { [self] in
            if broker == nil {
                try? TopicAdministration.delete(
                    [
                        submissionsTopic, outcomesTopic, deadLettersTopic, notificationsTopic, accountsTopic,
                        consumptionTopic,
                    ],
                    properties: kafkaProperties, timeoutMilliseconds: 10_000)
                // While the session of a killed worker lasts, Kafka refuses to delete the group. Kafka later deletes a
                // group without members and offsets by itself. The offsets vanished with the topics.
                try? GroupAdministration.delete(
                    ["", "-notifications", "-accounts", "-consumption"].map { groupID + $0 },
                    properties: kafkaProperties,
                    timeoutMilliseconds: 10_000)
            }
            broker?.close()
            postgres?.stop()
        }
    }
}
