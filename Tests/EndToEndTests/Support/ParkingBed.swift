import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka
import Ledger
import Postgres
import ReceiptdConfiguration
import TestSupport

@testable import Demo

/// A broker, an App Store and a database with the sample catalog. Workers run in their own processes.
final class ParkingBed {
    static let castle = "com.example.castle"
    /// An app for which tests make Apple's answers fail.
    static let club = "com.example.castle.club"
    /// An app with a cutover at the beginning of 2024.
    static let limits = "com.example.castle.limits"

    let parts: EmbeddedParts
    let databaseURL: String
    let outcomes: OutcomeCollector
    /// The text of the sample catalog, which is imported.
    let document: String
    private let producer: KafkaProducer
    let pool: PostgresPool
    private let directory: URL
    private var workers: [WorkerProcess] = []
    private var notified = 0

    var apple: AppStoreSimulation { parts.apple }

    /// Runs a test with a new bed.
    /// - Parameter stopsDatabase: true if the test stops the server. The test then gets a server of its own.
    static func run(
        stopsDatabase: Bool = false, latency: SimulatedLatency = .fixed(0),
        options adjust: (inout AppStoreSimulation.Options) -> Void = { _ in },
        _ body: (ParkingBed) async throws -> Void
    ) async throws {
        var options = try DemoRun.appleOptions(signing: Seeds.signing)
        options.signer = try SimulatedSigner(folder: Seeds.signing.path)
        adjust(&options)
        let uri = stopsDatabase ? nil : try await SharedServer.makeDatabase(isPrepared: true)
        let parts = try await EmbeddedParts.start(database: uri, latency: latency, appleOptions: options)
        let bed = try await ParkingBed(parts, databaseURL: uri ?? parts.databaseURL)
        do {
            try await body(bed)
            await bed.close()
        } catch {
            print(bed.logs)
            await bed.close()
            throw error
        }
    }

    private init(_ parts: EmbeddedParts, databaseURL: String) async throws {
        self.parts = parts
        self.databaseURL = databaseURL
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("parking-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        document = try Seeds.catalog()
        pool = PostgresPool(configuration: PostgresConfiguration(uri: databaseURL, applicationName: "tests"), size: 1)
        let properties = parts.kafkaProperties
        producer = try KafkaProducer(properties: properties, log: { _ in })
        outcomes = try await blocking { [parts] in
            try OutcomeCollector(
                outcomesTopic: parts.outcomesTopic, deadLettersTopic: parts.deadLettersTopic, properties: properties,
                seen: { SeenRecords.add($0, isOutcome: $1) })
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

    func environment(_ more: [String: String] = [:]) -> [String: String] {
        let own = [
            "DATABASE_URL": databaseURL, "RETRY_PARK_AFTER_SECONDS": "1", "RETRY_MAX_DELAY_SECONDS": "0.3",
            "LOG_LEVEL": "debug",
        ]
        let broker = TestBroker.isReal ? ["KAFKA_PROPERTIES": TestBroker.workerProperties] : [:]
        let settings = [own, broker, more].reduce(DemoRun.workerSettings) { $0.merging($1) { _, given in given } }
        return parts.workerEnvironment(adding: settings)
    }

    /// - Parameter command: `run`, `intake` or `console`.
    func startWorker(_ more: [String: String] = [:], command: String = "run") throws -> WorkerProcess {
        let worker = try WorkerProcess(
            program: Self.program(), command: command, environment: environment(more),
            logFile: directory.appendingPathComponent("worker-\(workers.count).log"))
        workers.append(worker)
        return worker
    }

    func kill(_ worker: WorkerProcess) async {
        worker.kill()
        _ = try? await blocking { worker.wait() }
    }

    func parked(_ arguments: String...) async throws -> EndedProgram { try await command(["parked"] + arguments) }

    func holds(_ arguments: String...) async throws -> EndedProgram { try await command(["holds"] + arguments) }

    func importCatalog(_ document: String) async throws {
        _ = try await CatalogStore(pool: pool).importDocument(
            document, granting: try CatalogFile.parse(document, version: 0).appsGrantingMissedPurchases)
    }

    func command(_ arguments: [String]) async throws -> EndedProgram {
        let environment = environment()
        let command = [try Self.program()] + arguments
        return try await blocking { try EndedProgram.run(command, environment: environment) }
    }

    private static func program() throws -> String {
        URL(fileURLWithPath: try DemoRun.ownPath()).deletingLastPathComponent().appendingPathComponent("receiptd").path
    }

    private static let appleIDs: [String: Int64] = [
        castle: 1_450_000_001, club: 1_450_000_006, limits: 1_450_000_005,
    ]

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

    /// Returns a receipt that the samples' key has signed, for a worker that trusts the samples' root as Apple's.
    static func provenReceipt(_ transaction: String, bundle: String = castle) -> String {
        Receipts.signed(
            SimulatedReceipt(
                bundleID: bundle, appAppleID: appleIDs[bundle] ?? 0,
                creationDateMilliseconds: Receipts.purchasedAt,
                purchases: [
                    SimulatedPurchase(
                        transactionID: transaction, productID: Receipts.gems,
                        purchaseDateMilliseconds: Receipts.purchasedAt)
                ]))
    }

    /// Publishes a submission with the id `name`. If `player` is nil, `name` is also the player's id.
    func submit(_ name: String, _ receipt: String, player: String? = nil, bundle: String = castle) async throws {
        let player = player ?? name
        let value = """
            {"submission_id":"\(name)","player_id":"\(player)","bundle_id":"\(bundle)","receipt_data":"\(receipt)"}
            """
        try await publish(value, player: player)
    }

    func publish(_ value: String, player: String) async throws {
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.submissionsTopic, partition: 0, key: Array(player.utf8), value: Array(value.utf8),
                headers: [], timestampMilliseconds: nil))
    }

    /// Publishes a submission of a StoreKit 2 transaction. The submission id is the player's id.
    func submit(signedTransaction: String, player: String, bundle: String) async throws {
        let value = """
            {"submission_id":"\(player)","player_id":"\(player)","bundle_id":"\(bundle)",\
            "signed_transaction":"\(signedTransaction)"}
            """
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.submissionsTopic, partition: 0, key: Array(player.utf8), value: Array(value.utf8),
                headers: [], timestampMilliseconds: nil))
    }

    /// Publishes the game server's consumption report. A dead letter of the report would have the transaction's id as
    /// its key.
    func report(_ value: String, of transaction: String) async throws {
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.consumptionTopic, partition: nil, key: Array(transaction.utf8), value: Array(value.utf8),
                headers: [], timestampMilliseconds: nil))
    }

    /// Publishes a notification of Apple's on the notifications topic. `outcomes` lists a dead letter of the
    /// notification under `apple`.
    func notify(_ body: String) async throws {
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.notificationsTopic, partition: nil, key: Array("apple/\(notified)".utf8),
                value: Array(body.utf8), headers: [], timestampMilliseconds: nil))
        notified += 1
    }

    /// Publishes the game server's statement that an account token belongs to a player.
    func account(_ token: String, isOf player: String, bundle: String = castle) async throws {
        _ = try await producer.send(
            ProducerRecord(
                topic: parts.accountsTopic, partition: nil, key: Array("\(bundle)/\(token)".utf8),
                value: Array(#"{"player_id":"\#(player)"}"#.utf8), headers: [], timestampMilliseconds: nil))
    }

    func number(_ sql: String) async throws -> Int64 {
        try await pool.run { try $0.execute(PostgresStatement(sql)).int8(0, 0) } ?? -1
    }

    func rows(_ sql: String) async throws -> [String] {
        try await pool.run { connection in
            let result = try connection.execute(PostgresStatement(sql))
            return (0..<result.count).compactMap { result.text($0, 0) }
        }
    }

    func waits(_ player: String, _ reason: ParkingReason) async throws -> Bool {
        try await number(
            "SELECT count(*) FROM parked WHERE player_id = '\(player)' AND reason = '\(reason.rawValue)'") == 1
    }

    /// Returns the types and reasons of a player's events, each event once.
    func answers(_ player: String) -> [String] {
        var seen: Set<String> = []
        return (outcomes.collected.events[player] ?? []).compactMap { event in
            guard let id = event["event_id"]?.string, seen.insert(id).inserted else { return nil }
            return (event["type"]?.string ?? "") + (event["reason"]?.string.map { " " + $0 } ?? "")
        }
    }

    /// Waits until the condition is true. The limit only ends a test that would wait forever.
    func until(_ what: String, seconds: Int = 120, _ condition: () async throws -> Bool) async throws {
        try await eventually(what, within: .seconds(seconds), every: .milliseconds(50), condition)
    }
}
