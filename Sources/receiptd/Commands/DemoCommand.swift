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
        abstract: "The main job on embedded parts: no broker, database or Apple account needed.")

    @Option(help: "The folder of sample cases.") var seeds = "seeds"
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
            let report = try await DemoRun(cases: cases, catalog: catalog, signing: signing, keepsLog: keepLog).run()
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
        let environment = ProcessInfo.processInfo.environment
        print("Starting PostgreSQL, a broker, a simulated App Store and the worker …")
        let parts = try await EmbeddedParts.start(
            environment: environment, appleOptions: Self.appleOptions(signing: signing))
        let logFile = FileManager.default.temporaryDirectory
            .appendingPathComponent("receiptd-demo-\(ProcessInfo.processInfo.processIdentifier).log")
        do {
            let report = try await run(on: parts, environment: environment, logFile: logFile)
            await parts.stop()
            if keepsLog {
                print("The worker's log: \(logFile.path)")
            } else {
                try? FileManager.default.removeItem(at: logFile)
            }
            return report
        } catch {
            await parts.stop()
            printError("The worker's log: \(logFile.path)")
            throw error
        }
    }

    private func run(on parts: EmbeddedParts, environment: [String: String], logFile: URL) async throws -> DemoReport {
        try await parts.migrate()
        try await parts.withPool(parts.databaseURL) { pool in
            _ = try await CatalogStore(pool: pool).importDocument(catalog)
        }
        for arrangement in cases.flatMap(\.arrangements) { parts.apple.register(arrangement) }
        let inherited = environment.filter {
            $0.key == "PATH" || $0.key.hasPrefix("KAFKA_PROPERTIES") || $0.key == "HOME"
        }
        let own = Self.workerSettings.merging(Self.settings(signing: signing)) { own, _ in own }
        let worker = try WorkerProcess(
            program: try Self.ownPath(),
            environment: inherited.merging(parts.workerEnvironment(adding: own)) { given, own in
                environment["KAFKA_BOOTSTRAP_SERVERS"] == nil ? own : given
            }, logFile: logFile)
        defer {
            worker.terminate()
            _ = worker.wait()
        }
        var properties = KafkaClientProperties(settings: KafkaSettings()).producer
        properties["bootstrap.servers"] = parts.bootstrapServers
        let producer = try KafkaProducer(properties: properties, log: { _ in })
        let readerProperties = KafkaProperties([("bootstrap.servers", parts.bootstrapServers)])
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
            notificationsDone: { try await parts.notificationsDone(in: pool) }, holds: HoldStore(pool: pool),
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
