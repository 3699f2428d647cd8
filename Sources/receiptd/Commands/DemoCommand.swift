import AppStoreSimulation
import ArgumentParser
import Foundation
import Fulfillment
import Kafka
import Ledger
import Postgres

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "The main job on embedded parts: no broker, database or Apple account needed.",
        discussion: """
            A broker or database that only the environment names is never touched. What --kafka and --database name is used in \
            topics and a schema of its own, which go at the end, also after Ctrl-C.
            """)

    @Option(help: "The folder of sample cases.") var seeds = "seeds"
    @Option(help: ArgumentHelp("A real broker, with KAFKA_PROPERTIES of the environment.", valueName: "host:port"))
    var kafka: String?
    @Option(help: ArgumentHelp("A real database.", valueName: "uri")) var database: String?
    @Flag(help: "Keep the worker's log and say where it is.") var keepLog = false

    func run() async throws {
        try await reporting {
            let directory = URL(fileURLWithPath: seeds)
            let cases: [SeedCase]
            let catalog: String
            do {
                cases = try SeedCase.loadAll(in: directory)
                catalog = try String(contentsOf: directory.appendingPathComponent("catalog.yaml"), encoding: .utf8)
            } catch let fault as SeedCase.Fault {
                throw CommandFailure(fault.description, code: 1)
            } catch {
                throw CommandFailure("no sample cases in \(seeds): name the folder with --seeds", code: 64)
            }
            let signing = directory.appendingPathComponent("signing")
            let environment = ProcessInfo.processInfo.environment
            // libpq reads them by itself, for whatever database.
            for name in environment.keys where name.hasPrefix("PG") { unsetenv(name) }
            let given = DemoParts(kafka: kafka, database: database)
            if let note = given.note(on: environment) { print(note) }
            let demo = DemoRun(
                cases: cases, catalog: catalog, signing: signing, keepsLog: keepLog,
                given: given.environment(from: environment))
            let report = try await untilSignal { try await demo.run() }
            print(report.text)
            guard report.isAsExpected else {
                throw CommandFailure("\nSome outcomes are not as their cases expect.", code: 1)
            }
            print("\nEvery outcome is as its case expects.")
        }
    }
}

/// The demo: parts, worker, submissions, report.
struct DemoRun {
    let cases: [SeedCase]
    let catalog: String
    /// The folder of the roots that the cases' receipts are signed under, and of the key for the App Store Server API.
    let signing: URL
    let keepsLog: Bool
    /// What names a real broker or database, as settings.
    let given: [String: String]

    /// Short times, so that what takes Apple minutes takes the demo a moment.
    static let workerSettings = [
        "RETRY_DOUBT_SECONDS": "1",
        "RETRY_INITIAL_DELAY_SECONDS": "0.05",
        "RETRY_MAX_DELAY_SECONDS": "0.5",
        "APPLE_TIMEOUT_SECONDS": "1",
        "SEEDS_SHARED_SECRET": "5f4dcc3b5aa765d61d8327deb882cf99",
    ]

    /// What stands in the cases' folder of keys, as settings.
    static func settings(signing: URL) -> [String: String] {
        [
            "APPLE_ROOT_CERTIFICATES_FILE": signing.appendingPathComponent("root.pem").path,
            "SEEDS_SERVER_API_KEY_FILE": serverAPIKey(in: signing).path,
        ]
    }

    /// Requests are counted for each receipt, since a case says how many it may cost.
    static func appleOptions(signing: URL) throws -> AppStoreSimulation.Options {
        var options = AppStoreSimulation.Options()
        options.trackReceipts = true
        options.serverAPIKeys["com.example.castle.server"] = try SimulatedServerAPIKey(
            pem: String(contentsOf: serverAPIKey(in: signing), encoding: .utf8))
        return options
    }

    private static func serverAPIKey(in signing: URL) -> URL {
        signing.appendingPathComponent("server-api-key.pem")
    }

    func run() async throws -> DemoReport {
        print("Starting PostgreSQL, a broker, a simulated App Store and the worker …")
        let parts = try await EmbeddedParts.start(
            environment: given, appleOptions: Self.appleOptions(signing: signing))
        let logFile = FileManager.default.temporaryDirectory
            .appendingPathComponent("receiptd-demo-\(ProcessInfo.processInfo.processIdentifier).log")
        do {
            let report = try await run(on: parts, logFile: logFile)
            await parts.stop()
            if keepsLog {
                print("The worker's log: \(logFile.path)")
            } else {
                try? FileManager.default.removeItem(at: logFile)
            }
            return report
        } catch {
            // Not cancelled with this task: it must not leave anything behind.
            await Task { await parts.stop() }.value
            if Task.isCancelled, !keepsLog {
                try? FileManager.default.removeItem(at: logFile)
            } else {
                printError("The worker's log: \(logFile.path)")
            }
            throw error
        }
    }

    private func run(on parts: EmbeddedParts, logFile: URL) async throws -> DemoReport {
        try Task.checkCancellation()
        try await parts.migrate()
        try await parts.withPool(parts.databaseURL) { pool in
            _ = try await CatalogStore(pool: pool).importDocument(catalog)
        }
        for arrangement in cases.flatMap(\.arrangements) { parts.apple.register(arrangement) }
        let inherited = ProcessInfo.processInfo.environment.filter { $0.key == "PATH" || $0.key == "HOME" }
        let own = Self.workerSettings.merging(Self.settings(signing: signing)) { own, _ in own }
        try Task.checkCancellation()
        let worker = try WorkerProcess(
            program: try Self.ownPath(),
            environment: inherited.merging(parts.workerEnvironment(adding: own)) { _, own in own }, logFile: logFile)
        do {
            let report = try await replay(on: parts)
            await worker.stop()
            return report
        } catch {
            await worker.stop()
            throw error
        }
    }

    private func replay(on parts: EmbeddedParts) async throws -> DemoReport {
        var properties = KafkaClientProperties(settings: KafkaSettings()).producer
        for pair in parts.kafkaProperties.pairs { properties[pair.name] = pair.value }
        let producer = try KafkaProducer(properties: properties, log: { _ in })
        let readerProperties = parts.kafkaProperties
        let collector = try await blocking {
            try OutcomeCollector(
                outcomesTopic: parts.outcomesTopic, deadLettersTopic: parts.deadLettersTopic,
                properties: readerProperties)
        }
        defer { collector.stop() }
        let pool = PostgresPool(
            configuration: PostgresConfiguration(uri: parts.databaseURL, applicationName: "receiptd demo"), size: 1)
        let replay = SeedReplay(
            cases: cases, producer: producer, collector: collector, submissionsTopic: parts.submissionsTopic,
            notificationsTopic: parts.notificationsTopic,
            notificationsDone: { try await parts.notificationsDone(in: pool) }, holds: HoldAdministration(pool: pool),
            apple: parts.apple)
        var progress = ProgressBar("submissions answered")
        let results: [SeedReplay.Result]
        do {
            results = try await replay.run { progress.show($0, of: $1) }
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
        progress.end()
        _ = try await blocking { producer.close() }
        return DemoReport(results: results)
    }

    /// This program's file: the worker is the same one.
    static func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
