import AppStoreSimulation
import Foundation
import Kafka
import Postgres
import Synchronization

@testable import Demo
@testable import ReceiptdConfiguration

/// The workers of one test, with their own broker, App Store and database.
final class Testbed: Sendable {
    enum Database: Sendable, Equatable {
        /// A new database with the schema and the catalog.
        case prepared
        case empty
        /// A PostgreSQL server for this test alone, which the test may stop.
        case ownServer
        case existing(String)
    }

    let parts: EmbeddedParts
    let databaseURL: String
    let pool: PostgresPool
    let producer: KafkaProducer
    let outcomes: OutcomeLog
    /// The partition and offset of each submitted record, in order.
    let places = Mutex<[Delivery]>([])
    private let directory: URL
    private let settings: [String: String]
    private let workers = Mutex<[Worker]>([])

    var apple: AppStoreSimulation { parts.apple }
    var allWorkers: [Worker] { workers.withLock { $0 } }

    /// - Parameter settings: the settings of all workers. They override the short times of `DemoRun.workerSettings`.
    static func run(
        on database: Database = .prepared, brokers: Int32 = 1,
        partitions: Int32 = EmbeddedParts.partitions, latency: SimulatedLatency = .fixed(0),
        settings: [String: String] = [:],
        _ body: (Testbed) async throws -> Void
    ) async throws {
        var options = try DemoRun.appleOptions(signing: Seeds.signing)
        options.logCapacity = 200_000
        let uri: String? =
            switch database {
            case .ownServer: nil
            case .existing(let uri): uri
            case .prepared, .empty: try await SharedServer.makeDatabase(isPrepared: database == .prepared)
            }
        let parts = try await EmbeddedParts.start(
            database: uri, brokers: brokers, partitions: partitions, latency: latency, appleOptions: options)
        let bed = try Testbed(parts, databaseURL: uri ?? parts.databaseURL, settings: settings)
        do {
            try await body(bed)
            await bed.close(failed: false)
        } catch {
            await bed.close(failed: true)
            throw error
        }
    }

    private init(_ parts: EmbeddedParts, databaseURL: String, settings: [String: String]) throws {
        self.parts = parts
        self.databaseURL = databaseURL
        self.settings = settings
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("endtoend-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        pool = PostgresPool(configuration: PostgresConfiguration(uri: databaseURL, applicationName: "tests"), size: 1)
        var properties = KafkaClientProperties(settings: KafkaSettings()).producer
        for (name, value) in parts.kafkaProperties.pairs { properties[name] = value }
        properties["reconnect.backoff.max.ms"] = "500"
        properties["max.in.flight"] = "1"
        producer = try KafkaProducer(properties: properties, log: { _ in })
        outcomes = OutcomeLog(
            outcomesTopic: parts.outcomesTopic, deadLettersTopic: parts.deadLettersTopic,
            partitions: parts.partitionCount, properties: parts.kafkaProperties)
    }

    func environment(_ more: [String: String] = [:]) -> [String: String] {
        let own = DemoRun.workerSettings
            .merging(DemoRun.settings(signing: Seeds.signing)) { _, own in own }
            .merging(["DATABASE_URL": databaseURL]) { _, own in own }
        let broker = ["KAFKA_PROPERTIES": TestBroker.workerProperties]
        return parts.workerEnvironment(
            adding: own.merging(broker) { _, given in given }.merging(settings) { _, given in given }
                .merging(more) { _, given in given })
    }

    @discardableResult
    func startWorker(_ more: [String: String] = [:]) throws -> Worker {
        let number = workers.withLock(\.count)
        let worker = Worker(
            process: try WorkerProcess(
                program: try Program.path(), environment: environment(more),
                logFile: directory.appendingPathComponent("worker-\(number).log")))
        workers.withLock { $0.append(worker) }
        return worker
    }

    func query<Value: Sendable>(_ sql: String, _ read: @escaping @Sendable (PostgresRows) -> Value) async throws
        -> Value
    {
        try await pool.run { read(try $0.execute(PostgresStatement(sql))) }
    }

    private func close(failed: Bool) async {
        for worker in workers.withLock({ $0 }) where worker.process.isRunning { try? await worker.kill() }
        outcomes.stop()
        await pool.close()
        _ = try? await blocking { [producer] in producer.close(flushMilliseconds: 0) }
        await parts.stop()
        if failed || ProcessInfo.processInfo.environment["ENDTOEND_KEEP_LOGS"] != nil {
            print("the workers' logs: \(directory.path)")
        } else {
            try? FileManager.default.removeItem(at: directory)
        }
    }
}
