import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Fulfillment
import Kafka
import Ledger
import Postgres
import ReceiptdConfiguration

/// Runs the demo: starts the services and a worker, submits the cases and reports the results.
package struct DemoRun: Sendable {
    private let seeds: DemoSeeds
    private let keepsLog: Bool
    private let given: [String: String]

    /// Gets the demo's messages and its progress.
    package struct Listener: Sendable {
        let line: @Sendable (String) -> Void
        let progress: @Sendable (_ done: Int, _ total: Int) -> Void

        package init(
            line: @escaping @Sendable (String) -> Void,
            progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
        ) {
            self.line = line
            self.progress = progress
        }
    }

    private let listener: Listener

    package init(seeds: DemoSeeds, given: [String: String], keepsLog: Bool, listener: Listener) {
        self.seeds = seeds
        self.given = given
        self.keepsLog = keepsLog
        self.listener = listener
    }

    /// The worker's settings with short times, so that the demo does not wait for minutes.
    static let workerSettings = [
        "RETRY_DOUBT_SECONDS": "1",
        "RETRY_INITIAL_DELAY_SECONDS": "0.05",
        "RETRY_MAX_DELAY_SECONDS": "0.5",
        "APPLE_TIMEOUT_SECONDS": "1",
        "MISSED_PURCHASE_SECONDS": "1",
        // The checks of local answers are off. In such a check, the simulated App Store would confirm a forged receipt,
        // unless the case arranges another answer.
        "LOCAL_REFUSAL_CHECKS_PER_MINUTE": "0",
        "SEEDS_SHARED_SECRET": "5f4dcc3b5aa765d61d8327deb882cf99",
    ]

    /// Returns the settings that name the keys in the cases' folder.
    static func settings(signing: URL) -> [String: String] {
        [
            "APPLE_ROOT_CERTIFICATES_FILE": signing.appendingPathComponent("root.pem").path,
            "SEEDS_SERVER_API_KEY_FILE": serverAPIKey(in: signing).path,
        ]
    }

    /// Returns options that count the requests for each receipt, because a case limits their number.
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

    /// Runs all cases. Throws a `SeedCase.Fault` if a case cannot be read, and `DemoSeeds.Missing` if there are none.
    package func run() async throws -> DemoReport {
        try await seeds.withFolder { folder in
            let material = try DemoMaterial(folder)
            return try await run(material, options: Self.appleOptions(signing: material.signing)) { parts in
                try await replay(material.cases, on: parts)
            }
        }
    }

    /// Runs simulated traffic, the worker's page and the console until the task is cancelled. Throws as `run` does.
    package func runLive() async throws {
        try await seeds.withFolder { folder in
            var material = try DemoMaterial(folder)
            material.catalog += LiveTraffic.catalog
            var options = try Self.appleOptions(signing: material.signing)
            let told = LiveTraffic.Told()
            options.signer = try SimulatedSigner(folder: material.signing.path)
            options.serverAPIKeys[LiveTraffic.bundleID] = options.serverAPIKeys["com.example.castle.server"]
            options.notified = told.add
            let (cases, port) = (material.cases, try FreePort.find())
            try await run(material, options: options, settings: ["HTTP_PORT": "\(port)"]) { parts in
                listener.line("The worker's page: http://127.0.0.1:\(port)/     Ctrl-C ends it.")
                try await withConsole(on: parts) {
                    let producer = try producer(on: parts)
                    try await LiveTraffic(parts: parts, producer: producer, cases: cases, told: told).run()
                }
            }
        }
    }

    /// The hash of the password `demo`.
    private static let demoPassword =
        "$scrypt$ln=15,r=8,p=1$cmVjZWlwdGQncyBkZW1vLg$ZGhdCM3nzoIfhJJzpmFX26h6voZZyB8z5HoJmVKojOg"

    /// Runs the console beside the worker while `body` runs.
    private func withConsole(on parts: EmbeddedParts, _ body: () async throws -> Void) async throws {
        let port = try FreePort.find()
        let inherited = ProcessInfo.processInfo.environment.filter { $0.key == "PATH" || $0.key == "HOME" }
        let own = [
            "DATABASE_URL": parts.databaseURL, "CONSOLE_HTTP_PORT": "\(port)",
            "CONSOLE_USERS": "demo:operate:\(Self.demoPassword)",
        ]
        let console = try WorkerProcess(
            program: try Self.ownPath(), command: "console", environment: inherited.merging(own) { _, own in own },
            logFile: Self.logFile)
        listener.line(
            "The console:       http://127.0.0.1:\(port)/     Sign in as demo with the password demo. Its charts begin after a minute."
        )
        do {
            try await body()
            await console.stop()
        } catch {
            await console.stop()
            throw error
        }
    }

    private static let logFile = FileManager.default.temporaryDirectory
        .appendingPathComponent("receiptd-demo-\(ProcessInfo.processInfo.processIdentifier).log")

    private func run<Result: Sendable>(
        _ material: DemoMaterial, options: AppStoreSimulation.Options, settings: [String: String] = [:],
        _ body: (EmbeddedParts) async throws -> Result
    ) async throws -> Result {
        listener.line("Starting PostgreSQL, a broker, a simulated App Store and the worker …")
        let parts = try await EmbeddedParts.start(environment: given, appleOptions: options)
        let logFile = Self.logFile
        do {
            let report = try await work(material, on: parts, settings: settings, logFile: logFile, body)
            await parts.stop()
            if keepsLog {
                listener.line("The worker's log: \(logFile.path)")
            } else {
                try? FileManager.default.removeItem(at: logFile)
            }
            return report
        } catch {
            // A separate task finishes the stop even if this task is cancelled.
            await Task { await parts.stop() }.value
            if Task.isCancelled, !keepsLog {
                try? FileManager.default.removeItem(at: logFile)
            } else {
                FileHandle.standardError.write(Data("The worker's log: \(logFile.path)\n".utf8))
            }
            throw error
        }
    }

    /// Returns the apps for which workers grant missed purchases. This function is not inlined: the optimizer of Swift
    /// 6.3 crashes on a typed throw that is inlined into an asynchronous function.
    @inline(never)
    private static func appsGrantingMissedPurchases(of document: String) throws -> [BundleID] {
        try CatalogFile.parse(document, version: 0).appsGrantingMissedPurchases
    }

    private func work<Result: Sendable>(
        _ material: DemoMaterial, on parts: EmbeddedParts, settings: [String: String], logFile: URL,
        _ body: (EmbeddedParts) async throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        try await parts.migrate()
        try await parts.withPool(parts.databaseURL) { pool in
            _ = try await CatalogStore(pool: pool).importDocument(
                material.catalog, granting: try Self.appsGrantingMissedPurchases(of: material.catalog))
        }
        for arrangement in material.cases.flatMap(\.arrangements) { parts.apple.register(arrangement) }
        let inherited = ProcessInfo.processInfo.environment.filter { $0.key == "PATH" || $0.key == "HOME" }
        // The cases count requests. With a shorter time-out, the worker of a busy machine would repeat some requests. At
        // 3 s, the worker repeated two of them while tests kept both processors busy.
        let own = Self.workerSettings.merging(["APPLE_TIMEOUT_SECONDS": "8"]) { $1 }
            .merging(Self.settings(signing: material.signing)) { own, _ in own }
            .merging(settings) { $1 }
        try Task.checkCancellation()
        let worker = try WorkerProcess(
            program: try Self.ownPath(),
            environment: inherited.merging(parts.workerEnvironment(adding: own)) { _, own in own }, logFile: logFile)
        do {
            let report = try await body(parts)
            await worker.stop()
            return report
        } catch {
            await worker.stop()
            throw error
        }
    }

    private func producer(on parts: EmbeddedParts) throws -> KafkaProducer {
        var properties = KafkaClientProperties(settings: KafkaSettings()).producer
        for pair in parts.kafkaProperties.pairs { properties[pair.name] = pair.value }
        return try KafkaProducer(properties: properties, log: { _ in })
    }

    private func replay(_ cases: [SeedCase], on parts: EmbeddedParts) async throws -> DemoReport {
        let producer = try producer(on: parts)
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
            notificationsTopic: parts.notificationsTopic, accountsTopic: parts.accountsTopic,
            notificationsDone: { try await parts.notificationsDone(in: pool) }, database: pool,
            apple: parts.apple)
        let results: [SeedReplay.Result]
        do {
            results = try await replay.run(progress: listener.progress)
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
        _ = try await blocking { producer.close() }
        return DemoReport(results: results)
    }

    /// Returns the path of this program, which the demo also runs as the worker.
    static func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}

struct DemoMaterial: Sendable {
    let cases: [SeedCase]
    var catalog: String
    /// The folder with the root certificates of the cases' receipts, and with the key for the App Store Server API.
    let signing: URL

    init(_ folder: URL) throws {
        do {
            cases = try SeedCase.loadAll(in: folder)
            catalog = try String(contentsOf: folder.appendingPathComponent("catalog.yaml"), encoding: .utf8)
        } catch let fault as SeedCase.Fault {
            throw fault
        } catch {
            throw DemoSeeds.Missing(folder: folder.path)
        }
        signing = folder.appendingPathComponent("signing")
    }
}
