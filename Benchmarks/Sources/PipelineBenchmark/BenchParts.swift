import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Broker, database, simulator and worker of one run.
final class BenchParts {
    static let bundleID = "com.example.benchmark"
    static let productID = "com.example.benchmark.gold"

    struct Usage {
        var worker: Double
        var postgres: Double
        var peakMemory: Int
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let outcomes: OutcomeStream
    private let broker: MockCluster
    private let postgres: EmbeddedPostgres
    private let apple = Process()
    private let worker = Process()
    private let build: URL
    private let directory: URL
    private let producer: KafkaProducer
    private var environment: [String: String]
    private let port: Int
    private let signer: SimulatedSigner
    private var submitted = 0

    /// The keys of the seeds: the worker takes their root for Apple's.
    private static let signing = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("seeds/signing")

    init(build: String, latency: Double, concurrency: Int, settings: [String]) throws {
        self.build = URL(fileURLWithPath: build)
        signer = try SimulatedSigner(folder: Self.signing.path)
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        broker = try MockCluster(topics: [
            "receipt-submissions": BenchRun.partitions, "receipt-outcomes": BenchRun.partitions,
            "receipt-dead-letters": 1,
        ])
        postgres = try EmbeddedPostgres.start()
        outcomes = OutcomeStream(
            topic: "receipt-outcomes", partitions: BenchRun.partitions, bootstrapServers: broker.bootstrapServers)
        producer = try KafkaProducer(
            properties: KafkaProperties([("bootstrap.servers", broker.bootstrapServers), ("linger.ms", "0")]),
            log: { _ in })
        port = Int.random(in: 20_000..<30_000)
        environment = [:]
        let portFile = directory.appendingPathComponent("apple.port")
        apple.executableURL = self.build.appendingPathComponent("AppStoreSimulator")
        apple.arguments = ["--port", "0", "--latency-ms", String(latency), "--port-file", portFile.path]
        apple.standardOutput = FileHandle.nullDevice
        try apple.run()
        let applePort = try Self.port(in: portFile)
        environment = [
            "PATH": "/usr/bin:/bin",
            "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrapServers,
            // The in-process broker answers a fetch that found nothing only after its wait, whatever comes meanwhile: a
            // real one answers at once. Short, so that the figures are the worker's.
            "KAFKA_PROPERTIES": "session.timeout.ms=4000;heartbeat.interval.ms=500;fetch.wait.max.ms=5",
            "DATABASE_URL": postgres.uri,
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": "http://127.0.0.1:\(applePort)/production/verifyReceipt",
            "APPLE_VERIFY_RECEIPT_SANDBOX_URL": "http://127.0.0.1:\(applePort)/sandbox/verifyReceipt",
            "APPLE_MAX_CONCURRENCY": String(concurrency),
            "APPLE_ROOT_CERTIFICATES_FILE": Self.signing.appendingPathComponent("root.pem").path,
            "HTTP_PORT": String(port),
            "LOG_LEVEL": "warning",
        ]
        for setting in settings {
            let parts = setting.split(separator: "=", maxSplits: 1)
            environment[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
        let catalog = directory.appendingPathComponent("catalog.yaml")
        try Data(Self.catalog.utf8).write(to: catalog)
        try runToEnd(["migrate"])
        try runToEnd(["catalog", "import", catalog.path])
    }

    private static var catalog: String {
        """
        apps:
          - bundle_id: \(bundleID)
            products:
              - product_id: \(productID)
                kind: consumable
                payload: { gold: 100 }
        """
    }

    func startWorker() throws {
        worker.executableURL = build.appendingPathComponent("receiptd")
        worker.arguments = ["run"]
        worker.environment = environment
        try worker.run()
    }

    /// Submissions with one purchase each, of as many players.
    func submit(_ count: Int, prefix: String) throws {
        for submission in prepare(count, prefix: prefix) { try send(submission) }
        guard producer.flush(timeoutMilliseconds: 60_000) else {
            throw Failure(description: "the broker took no records")
        }
    }

    private struct Submission {
        var player = ""
        var value: [UInt8] = []
    }

    /// Signs on all processors, and before any clock runs: a signature takes longer than the worker takes to check it.
    private func prepare(_ count: Int, prefix: String) -> [Submission] {
        let first = submitted + 1
        submitted += count
        var submissions = [Submission](repeating: Submission(), count: count)
        submissions.withUnsafeMutableBufferPointer { buffer in
            // Each iteration writes an element of its own.
            nonisolated(unsafe) let buffer = buffer
            DispatchQueue.concurrentPerform(iterations: count) { [signer] index in
                buffer[index] = Self.submission(first + index, prefix: prefix, signer: signer)
            }
        }
        return submissions
    }

    private static func submission(_ number: Int, prefix: String, signer: SimulatedSigner) -> Submission {
        let player = "\(prefix)-\(number)"
        let receipt = SimulatedReceipt(
            bundleID: bundleID,
            purchases: [
                SimulatedPurchase(transactionID: String(900_000_000_000 + number), productID: productID)
            ])
        let encoded = (try? receipt.base64Encoded(signer: signer.sign)) ?? receipt.base64Encoded()
        let value = """
            {"submission_id":"s-\(number)","player_id":"\(player)","bundle_id":"\(bundleID)",\
            "receipt_data":"\(encoded)","product_id":"\(productID)","order_id":"o-\(number)",\
            "device_id":"device-\(number)","currency":"USD"}
            """
        return Submission(player: player, value: Array(value.utf8))
    }

    private func send(_ submission: Submission) throws {
        let record = ProducerRecord(
            topic: "receipt-submissions", partition: nil, key: Array(submission.player.utf8), value: submission.value,
            headers: [], timestampMilliseconds: nil)
        while true {
            do {
                return try producer.produce(record) { _ in }
            } catch {
                guard error.code == KafkaError.Code.queueFull else { throw error }
                _ = producer.flush(timeoutMilliseconds: 1000)
            }
        }
    }

    func waitForEvents(_ count: Int) throws {
        let deadline = Date(timeIntervalSinceNow: 120)
        while outcomes.count < count {
            guard Date.now < deadline, worker.isRunning else {
                throw Failure(description: "only \(outcomes.count) of \(count) events came")
            }
            usleep(5000)
        }
    }

    /// Milliseconds from record to event, sorted, at an even load.
    func pacedLatencies(rate: Double, count: Int) throws -> [Double] {
        outcomes.reset()
        let submissions = prepare(count, prefix: "paced")
        let start = Date.now
        var sent: [(player: String, milliseconds: Int64)] = []
        for (index, submission) in submissions.enumerated() {
            let due = start.addingTimeInterval(Double(index) / rate)
            while Date.now < due { usleep(200) }
            sent.append((submission.player, Self.milliseconds))
            try send(submission)
        }
        try waitForEvents(count)
        return latencies(sent)
    }

    /// One at a time.
    func singleLatencies(count: Int) throws -> [Double] {
        var sent: [(player: String, milliseconds: Int64)] = []
        outcomes.reset()
        for (index, submission) in prepare(count, prefix: "single").enumerated() {
            sent.append((submission.player, Self.milliseconds))
            try send(submission)
            try waitForEvents(index + 1)
            usleep(20_000)
        }
        return latencies(sent)
    }

    private func latencies(_ sent: [(player: String, milliseconds: Int64)]) -> [Double] {
        sent.compactMap { entry in outcomes.time(of: entry.player).map { Double($0 - entry.milliseconds) } }.sorted()
    }

    func usage() -> Usage {
        let process = ProcessUsage(processID: worker.processIdentifier)
        return Usage(
            worker: process?.cpuSeconds ?? 0, postgres: ProcessUsage.treeSeconds(processID: postgres.processID),
            peakMemory: process?.peakMemory ?? 0)
    }

    /// Each stage's share of a submission's time, from the worker's own metrics.
    func stageShares() -> String {
        guard let url = URL(string: "http://127.0.0.1:\(port)/metrics"),
            let text = try? String(contentsOf: url, encoding: .utf8)
        else { return "stages: no metrics" }
        var sums: [(String, Double)] = []
        for line in text.split(separator: "\n") where line.hasPrefix("receiptd_stage_duration_seconds_sum{stage=\"") {
            let parts = line.dropFirst("receiptd_stage_duration_seconds_sum{stage=\"".count).split(separator: "\"")
            guard let value = line.split(separator: " ").last.flatMap({ Double($0) }) else { continue }
            sums.append((String(parts[0]), value))
        }
        let total = sums.reduce(0) { $0 + $1.1 }
        guard total > 0 else { return "stages: none" }
        let shares = sums.map { "\($0.0) \(String(format: "%.0f", 100 * $0.1 / total)) %" }
        return "stages: " + shares.joined(separator: ", ")
    }

    func stop() {
        outcomes.stop()
        if worker.isRunning {
            worker.terminate()
            worker.waitUntilExit()
        }
        apple.terminate()
        apple.waitUntilExit()
        producer.close()
        broker.close()
        postgres.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    private func runToEnd(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = build.appendingPathComponent("receiptd")
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "receiptd \(arguments.joined(separator: " ")) failed")
        }
    }

    private static var milliseconds: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    private static func port(in file: URL) throws -> Int {
        let deadline = Date(timeIntervalSinceNow: 20)
        while Date.now < deadline {
            if let text = try? String(contentsOf: file, encoding: .utf8),
                let port = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
            {
                return port
            }
            usleep(20_000)
        }
        throw Failure(description: "the simulated App Store did not start")
    }
}
