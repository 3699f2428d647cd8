import AppStoreSimulation
import Foundation
import Fulfillment
import Kafka
import Ledger
import Postgres

@testable import Demo

/// A broker, an App Store and a database with the seeds' catalog, and workers in processes of their own.
final class ParkingBed {
    static let castle = "com.example.castle"
    /// An app of its own, whose answers a test spoils.
    static let club = "com.example.castle.club"
    /// An app with a cutover at the beginning of 2024.
    static let limits = "com.example.castle.limits"

    struct NeverCame: Error, CustomStringConvertible {
        let description: String
    }

    struct Ending {
        let code: Int32
        let output: String
        let errors: String
    }

    let parts: EmbeddedParts
    let outcomes: OutcomeCollector
    /// The seeds' catalog, as it is in force.
    let document: String
    private let producer: KafkaProducer
    let pool: PostgresPool
    private let directory: URL
    private var workers: [WorkerProcess] = []
    private var notified = 0

    var apple: AppStoreSimulation { parts.apple }

    static func run(
        latency: SimulatedLatency = .fixed(0), _ body: (ParkingBed) async throws -> Void
    ) async throws {
        var options = AppStoreSimulation.Options()
        options.trackReceipts = true
        let bed = try await ParkingBed(
            EmbeddedParts.start(environment: TestBroker.environment, latency: latency, appleOptions: options))
        do {
            try await body(bed)
            await bed.close()
        } catch {
            print(bed.logs)
            await bed.close()
            throw error
        }
    }

    private init(_ parts: EmbeddedParts) async throws {
        self.parts = parts
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("parking-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try await parts.migrate()
        let catalog = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("seeds/catalog.yaml")
        document = try String(contentsOf: catalog, encoding: .utf8)
        pool = PostgresPool(
            configuration: PostgresConfiguration(uri: parts.databaseURL, applicationName: "tests"), size: 1)
        _ = try await CatalogStore(pool: pool).importDocument(document)
        let properties = parts.kafkaProperties
        producer = try KafkaProducer(properties: properties, log: { _ in })
        outcomes = try await blocking { [parts] in
            try OutcomeCollector(
                outcomesTopic: parts.outcomesTopic, deadLettersTopic: parts.deadLettersTopic, properties: properties)
        }
    }

    private var logs: String {
        workers.map { (try? String(contentsOf: $0.logFile, encoding: .utf8)) ?? "" }.joined(separator: "\n")
    }

    private func close() async {
        for worker in workers where worker.isRunning { await kill(worker) }
        outcomes.stop()
        await pool.close()
        _ = try? await blocking { [producer] in producer.close() }
        await parts.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    private func environment(_ more: [String: String] = [:]) -> [String: String] {
        let short = ["RETRY_PARK_AFTER_SECONDS": "1", "RETRY_MAX_DELAY_SECONDS": "0.3", "LOG_LEVEL": "debug"]
        let broker = TestBroker.isReal ? ["KAFKA_PROPERTIES": TestBroker.workerProperties] : [:]
        return parts.workerEnvironment(
            adding: DemoRun.workerSettings.merging(short.merging(broker) { $1 }) { _, own in own }.merging(more) {
                _, given in given
            })
    }

    func startWorker(_ more: [String: String] = [:]) throws -> WorkerProcess {
        let worker = try WorkerProcess(
            program: Self.program(), environment: environment(more),
            logFile: directory.appendingPathComponent("worker-\(workers.count).log"))
        workers.append(worker)
        return worker
    }

    func kill(_ worker: WorkerProcess) async {
        worker.kill()
        _ = try? await blocking { worker.wait() }
    }

    /// Calls `receiptd parked …` as an operator would.
    func parked(_ arguments: String...) async throws -> Ending { try await command(["parked"] + arguments) }

    /// Calls `receiptd holds …` as an operator would.
    func holds(_ arguments: String...) async throws -> Ending { try await command(["holds"] + arguments) }

    func importCatalog(_ document: String) async throws {
        _ = try await CatalogStore(pool: pool).importDocument(document)
    }

    func command(_ arguments: [String]) async throws -> Ending {
        let environment = environment()
        return try await blocking {
            let process = Process()
            let output = Pipe()
            let errors = Pipe()
            process.executableURL = URL(fileURLWithPath: try Self.program())
            process.arguments = arguments
            process.environment = environment
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            // Less than a pipe holds: whoever writes never waits.
            process.waitUntilExit()
            func text(_ pipe: Pipe) throws -> String {
                String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            }
            return Ending(code: process.terminationStatus, output: try text(output), errors: try text(errors))
        }
    }

    private static func program() throws -> String {
        URL(fileURLWithPath: try DemoRun.ownPath()).deletingLastPathComponent().appendingPathComponent("receiptd").path
    }

    private static let appleIDs: [String: Int64] = [
        castle: 1_450_000_001, club: 1_450_000_006, limits: 1_450_000_005,
    ]

    /// A purchase of gems, in a receipt of its own.
    static func receipt(
        _ transaction: String, bundle: String = castle, product: String = "com.example.castle.gems.100",
        boughtAt milliseconds: Int64 = 1_777_629_600_000
    ) -> String {
        SimulatedTransactionReceipt(
            bundleID: bundle, appAppleID: appleIDs[bundle] ?? 0,
            purchase: SimulatedPurchase(
                transactionID: transaction, productID: product,
                purchaseDateMilliseconds: milliseconds)
        ).base64Encoded()
    }

    /// The submission is named after its player, unless that one is named.
    func submit(_ name: String, _ receipt: String, player: String? = nil, bundle: String = castle) async throws {
        let player = player ?? name
        let value = """
            {"submission_id":"\(name)","player_id":"\(player)","bundle_id":"\(bundle)","receipt_data":"\(receipt)"}
            """
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.submissionsTopic, partition: 0, key: Array(player.utf8), value: Array(value.utf8),
                headers: [], timestampMilliseconds: nil))
    }

    /// Posts one of Apple's notifications to its topic. Its dead letter would be found under `apple`.
    func notify(_ body: String) async throws {
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.notificationsTopic, partition: nil, key: Array("apple/\(notified)".utf8),
                value: Array(body.utf8), headers: [], timestampMilliseconds: nil))
        notified += 1
    }

    func number(_ sql: String) async throws -> Int64 {
        try await pool.run { try $0.execute(PostgresStatement(sql)).int8(0, 0) } ?? -1
    }

    func waits(_ player: String, _ reason: ParkingReason) async throws -> Bool {
        try await number(
            "SELECT count(*) FROM parked WHERE player_id = '\(player)' AND reason = '\(reason.rawValue)'") == 1
    }

    /// Types of a player's events, each event once.
    func answers(_ player: String) -> [String] {
        var seen: Set<String> = []
        return (outcomes.collected.events[player] ?? []).compactMap { event in
            guard let id = event["event_id"]?.string, seen.insert(id).inserted else { return nil }
            return (event["type"]?.string ?? "") + (event["reason"]?.string.map { " " + $0 } ?? "")
        }
    }

    /// The limit only ends a test that would hang.
    func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !condition() {
            guard ContinuousClock.now < deadline else { throw NeverCame(description: "never came true: \(what)") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
