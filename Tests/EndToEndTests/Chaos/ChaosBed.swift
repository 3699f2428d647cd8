import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Demo

/// A test bed with its own server and three brokers. Its workers connect to PostgreSQL and Apple through proxies.
final class ChaosBed: Sendable {
    static let workers = 3
    static let brokers: Int32 = 3
    static let inFlight = 200
    static let appleConcurrency = 16
    static let workersRole = "receiptd"
    /// A session counts as hung 5 s after this time-out. `databaseBackendHung` lasts longer than that.
    private static let statementTimeout = "?options=-cstatement_timeout%3D8s"
    /// Settings with short times, so that workers park and retry submissions within the run.
    private static let settings = [
        "APPLE_MAX_CONCURRENCY": "\(appleConcurrency)", "MAX_IN_FLIGHT": "\(inFlight)", "RETRY_PARK_AFTER_SECONDS": "1",
        "SHUTDOWN_GRACE_SECONDS": "5",
        // The in-process broker may accept a batch after it refused the previous batch. No real broker does that.
        // librdkafka would then conclude that the broker has both batches. So only one batch may be in flight.
        "KAFKA_PROPERTIES": TestBroker.workerProperties + (TestBroker.isReal ? "" : ";max.in.flight=1"),
    ]

    let bed: Testbed
    let server: EmbeddedPostgres
    /// The in-process broker; nil if the run uses a real broker.
    let broker: MockCluster?
    let databaseProxy: TCPProxy
    let appleProxy: TCPProxy
    /// A standby of the server, or the standby that was promoted; nil if there is no standby.
    let otherServer = Locked<EmbeddedPostgres?>(nil)
    /// Counts the times that the database lost commits.
    let databaseLife = DatabaseLife()
    private let running = Mutex<[Worker]>([])
    /// The submissions that were ever parked, including submissions whose rows the database has lost.
    private let parkedBefore = Locked<Set<String>>([])

    var apple: AppStoreSimulation { bed.apple }
    /// The workers that should be running.
    var workers: [Worker] { running.withLock { $0 } }

    static func run(_ body: (ChaosBed) async throws -> Void) async throws {
        try await Testbed.run(
            on: .ownServer, brokers: brokers, latency: .uniform(5, 100), settings: settings
        ) { bed in
            let chaos = try await ChaosBed(bed)
            do {
                try await chaos.prepare()
                try await body(chaos)
                await chaos.close()
            } catch {
                await chaos.close()
                throw error
            }
        }
    }

    private init(_ bed: Testbed) async throws {
        self.bed = bed
        server = try #require(bed.parts.postgres)
        broker = bed.parts.broker
        databaseProxy = try await TCPProxy.start(to: server.port)
        appleProxy = try await TCPProxy.start(to: bed.apple.port)
    }

    private func close() async {
        for worker in workers where worker.process.isRunning {
            worker.process.send(SIGCONT)
            try? await worker.kill()
        }
        // A run that ended during a promotion leaves a standby or a promoted server.
        if let other = otherServer.value { _ = try? await blocking { other.stop() } }
        await databaseProxy.stop()
        await appleProxy.stop()
    }

    /// Makes the workers' role the owner of the tables, but no superuser, so that a test can revoke the role's rights.
    private func prepare() async throws {
        try await bed.recordParked()
        try await database(
            "CREATE ROLE \(Self.workersRole) LOGIN", "GRANT ALL ON SCHEMA public TO \(Self.workersRole)",
            """
            CREATE FUNCTION chaos_full() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$
            """,
            """
            CREATE FUNCTION chaos_deadlock() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF random() < 0.5 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
                RETURN NULL;
            END $$
            """,
            """
            DO $$
            DECLARE name regclass; routine regprocedure;
            BEGIN
                FOR name IN SELECT oid FROM pg_class
                    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')
                LOOP EXECUTE format('ALTER TABLE %s OWNER TO \(Self.workersRole)', name); END LOOP;
                FOR routine IN SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace
                LOOP EXECUTE format('ALTER ROUTINE %s OWNER TO \(Self.workersRole)', routine); END LOOP;
            END $$
            """)
    }

    @discardableResult
    func startWorker(_ more: [String: String] = [:]) throws -> Worker {
        let worker = try bed.startWorker(proxied.merging(more) { _, given in given })
        running.withLock { $0.append(worker) }
        return worker
    }

    /// Starts a worker that is expected to end by itself.
    func startDoomedWorker(_ more: [String: String]) throws -> Worker {
        try bed.startWorker(proxied.merging(more) { _, given in given })
    }

    /// Runs a command of `receiptd` with a worker's settings, as an operator does.
    func command(_ arguments: [String]) async throws -> EndedProgram {
        try await Program.run(arguments, environment: bed.environment(proxied))
    }

    private var proxied: [String: String] {
        [
            "DATABASE_URL": bed.databaseURL.replacing(
                "postgres@127.0.0.1:\(server.port)/", with: "\(Self.workersRole)@127.0.0.1:\(databaseProxy.port)/")
                + Self.statementTimeout,
            "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": apple.productionURL.replacing(
                ":\(apple.port)/", with: ":\(appleProxy.port)/"),
            "APPLE_VERIFY_RECEIPT_SANDBOX_URL": apple.sandboxURL.replacing(
                ":\(apple.port)/", with: ":\(appleProxy.port)/"),
        ]
    }

    func everParked() async throws -> Set<String> {
        try await bed.parkedOnce().union(parkedBefore.value)
    }

    /// Keeps the ids of parked submissions. Must be called before the database loses their rows.
    func rememberParked() async throws { parkedBefore.value = try await everParked() }

    func takeOut(_ worker: Worker) {
        running.withLock { all in all.removeAll { $0.process === worker.process } }
    }

    /// Runs statements, one after another, in the test's own session, which may write even while the database is
    /// read-only.
    func database(_ statements: String...) async throws {
        let direct = bed.databaseURL + "?options=-cdefault_transaction_read_only%3Doff"
        try await Seeds.withPool(direct) { pool in
            try await pool.run { session in
                for statement in statements { try session.run(script: statement) }
            }
        }
    }
}
