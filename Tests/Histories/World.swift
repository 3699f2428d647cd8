import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import HistoryModel
import Kafka
import Postgres
import Synchronization

/// The broker, the App Store, the database and the workers of one history.
final class World: Sendable {
    static let partitions: Int32 = 2
    static let topics = [
        "receipt-submissions", "receipt-outcomes", "receipt-dead-letters", "app-store-notifications", "player-accounts",
        "receipt-consumption",
    ]

    let ground: Ground
    let name: String
    let apple: AppStoreSimulation
    let mail: Mail
    let broker: BrokerProcess?
    let producer: KafkaProducer
    let outcomes: OutcomeReader
    let lagReader: LagReader
    /// The connections with which the runner observes the database.
    let looking: PostgresPool
    let settings: [String: String]
    let prefix: String
    let workers = Mutex<[ChildProcess]>([])
    let properties: KafkaProperties

    var databaseURL: String { ground.server.uri(database: name) }
    var submissions: String { prefix + "receipt-submissions" }
    var notifications: String { prefix + "app-store-notifications" }
    private let started = Mutex<[ChildProcess]>([])
    private let killedAt = Mutex(Date.distantPast)
    private let crashedCommands = Mutex<[String]>([])

    /// Returns the log file of a worker. `number` counts the workers that were started, from 1.
    private func logFile(_ number: Int) -> URL { ground.directory.appendingPathComponent("\(name)-\(number).log") }
    var logFiles: String { logFile(1).path.replacing("-1.log", with: "-*.log") }

    static func start(_ ground: Ground, _ history: History) async throws -> World {
        let mail = Mail()
        var options = AppStoreSimulation.Options()
        options.signer = try SimulatedSigner(folder: Scenery.signing.path)
        options.notified = { mail.add($0) }
        options.seed = UInt64(ground.nextNumber())
        options.logCapacity = 20_000
        let apple = try await AppStoreSimulation.start(options: options)
        return try await blocking { try World(ground, apple, mail, history) }
    }

    private init(_ ground: Ground, _ apple: AppStoreSimulation, _ mail: Mail, _ history: History) throws {
        self.ground = ground
        self.apple = apple
        self.mail = mail
        name = "world_\(ground.nextNumber())"
        prefix = ground.bootstrapServers == nil ? "" : "h\(getpid())-\(name.replacing("_", with: "-"))-"
        try ground.server.createDatabase(name, template: Ground.template)
        let topics = Dictionary(uniqueKeysWithValues: Self.topics.map { [prefix] in (prefix + $0, Self.partitions) })
        let servers: String
        if let given = ground.bootstrapServers {
            broker = nil
            servers = given
            let properties = KafkaProperties([("bootstrap.servers", given)])
            // The records of a history are up to 400 days old. A broker with its default retention would delete them
            // unread.
            try TopicAdministration.create(
                topics, settings: ["retention.ms": "-1"], properties: properties, timeoutMilliseconds: 30_000)
            try TopicAdministration.awaitLeaders(of: topics, properties: properties, timeoutMilliseconds: 30_000)
        } else {
            let process = try BrokerProcess(log: ground.directory.appendingPathComponent("\(name)-broker.log").path)
            broker = process
            servers = process.bootstrapServers
        }
        properties = KafkaProperties([("bootstrap.servers", servers)])
        var own = properties
        for (name, value) in [
            ("max.in.flight", "1"), ("linger.ms", "0"), ("reconnect.backoff.max.ms", "500"),
            ("partitioner", "murmur2_random"),
        ] {
            own[name] = value
        }
        producer = try KafkaProducer(properties: own, log: { _ in })
        outcomes = OutcomeReader(prefix: prefix, partitions: Self.partitions, properties: properties)
        lagReader = LagReader(
            groups: [
                prefix + "receipt-submissions": prefix + "receiptd",
                prefix + "app-store-notifications": prefix + "receiptd-notifications",
            ], partitions: Self.partitions, properties: properties)
        looking = PostgresPool(
            configuration: PostgresConfiguration(
                uri: ground.server.uri(database: name), applicationName: "histories"), size: 1)
        var fitting = Scenery.settings(history)
        if broker == nil { fitting["KAFKA_PROPERTIES"] = Scenery.consumer(sessionMilliseconds: 6000) }
        settings = fitting.merging(
            [
                "KAFKA_BOOTSTRAP_SERVERS": servers, "KAFKA_GROUP_ID": prefix + "receiptd",
                "KAFKA_SUBMISSIONS_TOPIC": prefix + "receipt-submissions",
                "KAFKA_OUTCOMES_TOPIC": prefix + "receipt-outcomes",
                "KAFKA_DEAD_LETTERS_TOPIC": prefix + "receipt-dead-letters",
                "KAFKA_NOTIFICATIONS_TOPIC": prefix + "app-store-notifications",
                "KAFKA_ACCOUNTS_TOPIC": prefix + "player-accounts",
                "KAFKA_CONSUMPTION_TOPIC": prefix + "receipt-consumption",
                "DATABASE_URL": ground.server.uri(database: name) + "?options=-cstatement_timeout%3D4s",
                "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": apple.productionURL,
                "APPLE_VERIFY_RECEIPT_SANDBOX_URL": apple.sandboxURL,
                "APPLE_SERVER_API_PRODUCTION_URL": apple.serverAPIProductionURL,
                "APPLE_SERVER_API_SANDBOX_URL": apple.serverAPISandboxURL,
            ]
        ) { $1 }
    }

    func startWorker() throws {
        // The lock is held during the start, so that two workers that start together have different log files.
        let process = try started.withLock { started in
            var start = ChildProcess.Start([ground.program, "run"], log: logFile(started.count + 1).path)
            start.environment = settings.merging(Self.inherited) { own, _ in own }
            start.folder = nil
            start.output = .discarded
            start.endsWithUs = true
            let process = try ChildProcess(start)
            started.append(process)
            return process
        }
        workers.withLock { $0.append(process) }
    }

    var runningWorkers: Int { workers.withLock { $0.count(where: \.isRunning) } }

    /// The environment variables of this process that plant faults in workers and commands.
    private static let inherited = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("RECEIPTD_") }

    /// Kills the worker that `choice` selects, and starts a new one.
    func kill(_ choice: Int) async throws {
        let victim = workers.withLock { all -> ChildProcess? in
            all.removeAll { !$0.isRunning }
            return all.isEmpty ? nil : all.remove(at: choice % all.count)
        }
        guard let victim else { return try startWorker() }
        victim.send(SIGKILL)
        _ = try await blocking { victim.wait() }
        killedAt.withLock { $0 = .now }
        try startWorker()
    }

    /// The end of the leases that killed workers had on rows. A lease lasts 60 s.
    var deadLeasesEnd: Date { killedAt.withLock { $0.addingTimeInterval(60) } }

    func tellWorkersToStop() -> [ChildProcess] {
        let all = workers.withLock { workers in
            defer { workers = [] }
            return workers
        }
        for worker in all {
            worker.send(SIGCONT)
            worker.send(SIGTERM)
        }
        return all
    }

    /// Sets the group's offsets of the submissions topic to 0. On the in-process broker `receiptd rewind` cannot do
    /// this, because that broker cannot look up offsets by time. The group must have no member.
    func resetOffsets() async throws {
        var own = properties
        own["group.id"] = prefix + "receiptd"
        own["session.timeout.ms"] = "4000"
        own["enable.auto.commit"] = "false"
        try await blocking { [submissions, own] in
            let consumer = try KafkaConsumer(properties: own, log: { _ in })
            defer { consumer.close() }
            // The in-process broker lets only a member of the group commit.
            var assigned: [TopicPartition] = []
            try consumer.subscribe(
                [submissions],
                rebalance: KafkaConsumer.Rebalance(assigned: { partitions in
                    assigned = partitions
                    return [:]
                }))
            let end = Date.now.addingTimeInterval(15)
            while assigned.isEmpty, Date.now < end { _ = consumer.poll(timeoutMilliseconds: 100) }
            guard !assigned.isEmpty else { throw History.Fault(description: "the group assigned no partition in 15 s") }
            let marks = assigned.map { ($0, CommitMark(offset: 0)) }
            try consumer.commit(Dictionary(uniqueKeysWithValues: marks), timeoutMilliseconds: 5000)
        }
    }

    /// Runs an operator's command. Throws a fault if the command does not know one of its arguments.
    func command(_ arguments: [String]) async throws -> Ground.Ending {
        let ending = try await ground.command(arguments, settings.merging(Self.inherited) { own, _ in own })
        if ending.code == 64, ending.text.contains("Usage:") { throw History.Fault(description: ending.text) }
        if Self.isCrash(ending.code) {
            crashedCommands.withLock { $0.append("\(arguments) (signal \(-ending.code)): \(ending.text.suffix(2000))") }
        }
        return ending
    }

    /// Returns whether the program ended by a signal of its own, for example by a trap. The runner sends other signals.
    private static func isCrash(_ code: Int32) -> Bool {
        [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV].contains(-code)
    }

    /// The workers and commands that ended by a signal of their own, each with the end of its output.
    var crashes: [String] {
        let ended = started.withLock { $0.enumerated().filter { !$0.element.isRunning } }
        let workers = ended.filter { Self.isCrash($0.element.wait()) }.map { number, process in
            let log = (try? String(contentsOf: logFile(number + 1), encoding: .utf8)) ?? ""
            return "worker \(number + 1) (signal \(-process.wait())): \(log.suffix(2000))"
        }
        return workers + crashedCommands.withLock { $0 }
    }

    /// Publishes a record, and returns its position.
    /// - Parameter time: the record's time in milliseconds since 1970; nil for the producer's clock; -1 for no time.
    func send(_ topic: String, key: String, value: [UInt8], time: Int64?) async throws -> Place {
        let delivery = try await producer.send(
            ProducerRecord(
                topic: topic, partition: nil, key: Array(key.utf8), value: value, headers: [],
                timestampMilliseconds: time))
        return Place(partition: delivery.topicPartition.partition, offset: delivery.offset)
    }

    /// Runs `body`, which must end soon after a cancellation. Throws the error of `body`, or a fault if the broker's
    /// process ends. Without this, a wait for a dead broker could last forever.
    func whileItLasts<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        guard let broker else { return try await body() }
        return try await withThrowingTaskGroup(of: Value?.self) { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask { try await body() }
            tasks.addTask {
                while broker.isRunning { try await Task.sleep(for: .milliseconds(200)) }
                return nil
            }
            if let value = try await tasks.next() ?? nil, broker.isRunning { return value }
            // Closing the producer ends a send that is under way. Cancellation alone does not.
            try await blocking { [producer] in producer.close(flushMilliseconds: 0) }
            throw History.Fault(description: "the broker has died")
        }
    }

    func close(keepsLog: Bool) async {
        let all = workers.withLock { $0 }
        for worker in all {
            worker.send(SIGCONT)
            worker.send(SIGKILL)
        }
        outcomes.stop()
        lagReader.stop()
        await looking.close()
        try? await apple.shutdown()
        _ = try? await blocking { [self] in
            for worker in all { _ = worker.wait() }
            producer.close(flushMilliseconds: 0)
            broker?.close()
        }
        try? await ground.withPool(ground.server.uri) { pool in
            for database in [name, name + "_kept"] {
                try await pool.run { try $0.run(script: "DROP DATABASE IF EXISTS \(database) WITH (FORCE)") }
            }
        }
        if !keepsLog {
            for number in 0..<started.withLock(\.count) {
                try? FileManager.default.removeItem(at: logFile(number + 1))
            }
        }
    }
}
