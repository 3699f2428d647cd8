import AppStoreSimulation
import Foundation
import Kafka

/// The broker, database, simulator and workers of one run.
final class BenchParts {
    struct Usage {
        /// The processor seconds of all workers.
        var worker: Double
        var postgres: Double
        /// The peak memory of the largest worker, in bytes.
        var peakMemory: Int
        /// The present memory of the largest worker, in bytes.
        var memory: Int
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The in-process broker needs these properties.
    static let kafkaProperties = "session.timeout.ms=4000;heartbeat.interval.ms=500"

    let outcomes: OutcomeStream
    private let broker: MockCluster
    let database: BenchDatabase
    private let apple = Process()
    private(set) var workers: [Process] = []
    private let build: URL
    /// The worker's program: `receiptd`, or the program that replaces it.
    private let program: URL
    private let directory: URL
    private let producer: KafkaProducer
    private var environment: [String: String]
    let port: Int
    private let traffic: Traffic
    private var submitted = 0

    /// - Parameter signing: the folder of the keys that sign receipts; the worker takes their root for Apple's.
    init(
        build: String, worker: String?, signing: String, latency: Double, concurrency: Int, settings: [String],
        database options: BenchDatabase.Options = BenchDatabase.Options()
    ) throws {
        self.build = URL(fileURLWithPath: build)
        program = worker.map { URL(fileURLWithPath: $0) } ?? self.build.appendingPathComponent("receiptd")
        traffic = try Traffic(signer: SimulatedSigner(folder: signing))
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        broker = try MockCluster(topics: [
            "receipt-submissions": BenchRun.partitions, "receipt-outcomes": BenchRun.partitions,
            "receipt-dead-letters": 1,
        ])
        database = try BenchDatabase(options)
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
            // The in-process broker answers an empty fetch only after the whole wait, even if a record arrives. A real
            // broker answers at once. The wait is short, so that the figures do not include it.
            "KAFKA_PROPERTIES": "\(Self.kafkaProperties);fetch.wait.max.ms=5",
            "DATABASE_URL": database.uri,
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": "http://127.0.0.1:\(applePort)/production/verifyReceipt",
            "APPLE_VERIFY_RECEIPT_SANDBOX_URL": "http://127.0.0.1:\(applePort)/sandbox/verifyReceipt",
            "APPLE_SERVER_API_PRODUCTION_URL": "http://127.0.0.1:\(applePort)/production",
            "APPLE_SERVER_API_SANDBOX_URL": "http://127.0.0.1:\(applePort)/sandbox",
            "APPLE_MAX_CONCURRENCY": String(concurrency),
            "APPLE_ROOT_CERTIFICATES_FILE": URL(fileURLWithPath: signing).appendingPathComponent("root.pem").path,
            // Three tries about a doubtful answer must fit into the run.
            "RETRY_DOUBT_SECONDS": "2",
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
        try database.prepare()
        try runToEnd(["catalog", "import", catalog.path])
    }

    private static var catalog: String {
        """
        apps:
          - bundle_id: \(Traffic.bundleID)
            products:
              - product_id: \(Traffic.productID)
                kind: consumable
                payload: { gold: 100 }
        """
    }

    func startWorkers(_ count: Int = 1) throws {
        for _ in 0..<count {
            let worker = Process()
            worker.executableURL = program
            worker.arguments = ["run"]
            worker.environment = environment.merging(["HTTP_PORT": String(port + workers.count)]) { _, new in new }
            try worker.run()
            workers.append(worker)
        }
    }

    /// Submits one submission of each kind in the list, each of another player.
    func submit(_ kinds: [Traffic.Kind], prefix: String) throws {
        for submission in try prepare(kinds, prefix: prefix) { try send(submission) }
        guard producer.flush(timeoutMilliseconds: 60_000) else {
            throw Failure(description: "the broker took no records")
        }
    }

    /// Signs the receipts on all processors before the measurement: signing takes longer than the worker's check.
    private func prepare(_ kinds: [Traffic.Kind], prefix: String) throws -> [Traffic.Submission] {
        let first = submitted + 1
        submitted += kinds.count
        var submissions = [Traffic.Submission](repeating: .init(), count: kinds.count)
        submissions.withUnsafeMutableBufferPointer { buffer in
            // Each iteration writes another element.
            nonisolated(unsafe) let buffer = buffer
            DispatchQueue.concurrentPerform(iterations: kinds.count) { [traffic] index in
                guard let made = try? traffic.submission(kinds[index], first + index, prefix: prefix) else { return }
                buffer[index] = made
            }
        }
        guard submissions.allSatisfy({ !$0.value.isEmpty }) else {
            throw Failure(description: "receipts could not be signed")
        }
        return submissions
    }

    private func send(_ submission: Traffic.Submission) throws {
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
            guard Date.now < deadline, workers.allSatisfy(\.isRunning) else {
                throw Failure(description: "only \(outcomes.count) of \(count) events came")
            }
            usleep(5000)
        }
    }

    /// Returns the sorted milliseconds from record to event at an even rate.
    ///
    /// - Parameter flood: the number of further submissions for each measured one; 95 % of these are junk.
    func pacedLatencies(rate: Double, count: Int, flood: Int = 0) throws -> [Double] {
        let honest = try prepare(Array(repeating: .genuine, count: count), prefix: "paced")
        let others = try prepare((0..<count * flood).map { $0 % 20 == 0 ? .genuine : .junk }, prefix: "flood")
        outcomes.reset()
        let start = Date.now
        var sent: [(player: String, milliseconds: Int64)] = []
        for (index, submission) in honest.enumerated() {
            let due = start.addingTimeInterval(Double(index) / rate)
            while Date.now < due { usleep(200) }
            for other in others[index * flood..<(index + 1) * flood] { try send(other) }
            sent.append((submission.player, Self.milliseconds))
            try send(submission)
        }
        try waitForEvents(count + others.count)
        return latencies(sent)
    }

    /// Returns the sorted milliseconds from record to event for submissions that come one at a time.
    func singleLatencies(count: Int) throws -> [Double] {
        var sent: [(player: String, milliseconds: Int64)] = []
        outcomes.reset()
        let submissions = try prepare(Array(repeating: .genuine, count: count), prefix: "single")
        for (index, submission) in submissions.enumerated() {
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

    func stop() {
        outcomes.stop()
        for worker in workers where worker.isRunning { worker.terminate() }
        for worker in workers { worker.waitUntilExit() }
        apple.terminate()
        apple.waitUntilExit()
        producer.close()
        broker.close()
        database.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    private func runToEnd(_ arguments: [String]) throws {
        try Self.runToEnd(build.appendingPathComponent("receiptd"), arguments, environment)
    }

    private static func runToEnd(_ program: URL, _ arguments: [String], _ environment: [String: String]) throws {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(
                description: "\(program.lastPathComponent) \(arguments.prefix(6).joined(separator: " ")) failed")
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
