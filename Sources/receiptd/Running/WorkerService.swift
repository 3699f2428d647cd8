import AppStore
import AppleProofs
import Foundation
import Fulfillment
import Kafka
import Ledger
import Logging
import Operations
import Pipeline
import Postgres
import ServiceLifecycle

/// The worker: waits for what it needs, consumes until it is told to stop, and leaves in order.
struct WorkerService: Service {
    let settings: Settings
    let secrets: SecretSource
    let metrics: ReceiptdMetrics
    let health: Health
    let logger: Logger

    func run() async throws {
        let pool = PostgresPool(
            configuration: settings.database.workerConfiguration, size: settings.database.poolSize, hung: noteHung)
        var ledgerLimits = PostgresLedger.Limits()
        // One session is for looking up, and one for all that is not the ledger's.
        ledgerLimits.writers = min(ledgerLimits.writers, max(1, settings.database.poolSize - 2))
        let ledger = PostgresLedger(pool: pool, limits: ledgerLimits, observer: .reporting(to: metrics, health, logger))
        let parking = PostgresParking(pool: pool, observer: .reporting(to: metrics, health, logger))
        // Of its own: a lease must not wait behind a batch.
        let budgetPool = PostgresPool(
            configuration: settings.database.workerConfiguration, size: 1, hung: noteHung)
        let limit = ShutdownLimit(seconds: settings.shutdownGraceSeconds, pools: [pool, budgetPool], logger: logger)
        let limits = AppleLimits(
            maxConcurrency: settings.apple.maxConcurrency, maxRequestsPerSecond: settings.apple.maxRequestsPerSecond,
            budget: PostgresAppleBudget(pool: budgetPool), observer: AppleMetrics(metrics: metrics, logger: logger))
        let catalog = CatalogWatch(store: CatalogStore(pool: pool), logger: logger) { catalog in
            let apps = catalog.apps.values.filter { $0.serverAPI != nil }.map(\.bundleID)
            limits.keepCredentials(of: Set(apps), endpoint: ServerAPIClient.endpoint)
        }
        let verifier = try client(limits)
        if settings.apple.rootCertificatesFile != nil {
            logger.notice(
                "receipts and signed transactions are proven by other roots than Apple's",
                [
                    .setting: "\(SettingName.appleRootCertificatesFile.rawValue)",
                    .count: .stringConvertible(settings.apple.roots.fingerprints.count),
                ])
        }
        do {
            try await withGracefulShutdownHandler {
                try await cancelWhenGracefulShutdown { try await waitUntilReady(pool, catalog) }
                try await consume(catalog, verifier, limits, ledger, parking, pool)
            } onGracefulShutdown: {
                limit.start()
            }
        } catch is CancellationError {
            logger.info("stopped before anything was consumed")
        }
        await parking.close()
        await ledger.close()
        await verifier.shutdown()
        await budgetPool.close()
        await pool.close()
        limit.end()
    }

    /// A session gave no answer in time. Its work is done again by another; PostgreSQL's log or a look at its processes
    /// tells why.
    private var noteHung: @Sendable (HungSession) -> Void {
        { [logger] hung in
            logger.warning(
                "a PostgreSQL session hangs: its work is done again by another",
                [
                    .count: .stringConvertible(hung.count), .detail: "\(hung.wasCommitting ? "COMMIT" : "statement")",
                    .processID: .stringConvertible(hung.processID),
                ])
            if hung.isLast {
                logger.error(
                    "too many PostgreSQL sessions hang: no more are left behind, the rest are waited for",
                    [.count: .stringConvertible(hung.count)])
            }
        }
    }

    private func client(_ limits: AppleLimits) throws -> AppStoreClient {
        let secret: @Sendable (String) -> String? = { [secrets] in secrets.secret(named: $0) }
        let observer = AppleMetrics(metrics: metrics, logger: logger)
        return AppStoreClient(
            receipts: try VerifyReceiptClient(
                settings: settings.apple.client, secrets: secret, limits: limits, observer: observer),
            transactions: try ServerAPIClient(
                settings: settings.apple.client, secrets: secret, proofs: ProofReader(roots: settings.apple.roots),
                limits: limits, observer: observer))
    }

    private func consume(
        _ catalog: CatalogWatch, _ verifier: AppStoreClient, _ limits: AppleLimits, _ ledger: PostgresLedger,
        _ parking: PostgresParking, _ pool: PostgresPool
    ) async throws {
        let pipeline = try Pipeline(
            settings: settings.pipeline, catalog: { catalog.catalog },
            parser: ProofReader(roots: settings.apple.roots), verifier: verifier, ledger: ledger,
            unpublished: LedgerOutbox(ledger: ledger, sweeper: OutboxSweeper(pool: pool)),
            parked: (store: parking, apple: limits), held: PostgresHolds(pool: pool),
            notifications: NotificationSource(
                topic: settings.kafka.notificationsTopic,
                consumerProperties: KafkaClientProperties(settings: settings.kafka).notificationsConsumer,
                parser: ProofReader(roots: settings.apple.roots), refunds: PostgresRefunds(pool: pool)),
            offsets: PostgresOffsets(pool: pool), metrics: metrics, health: health, logger: logger)
        let upkeep = Upkeep(
            pool: pool, retention: OutcomeRetention(pool: pool, days: settings.outcomeRetentionDays),
            metrics: metrics, health: health, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await catalog.follow() }
            group.addTask { await upkeep.run() }
            group.addTask { await limits.follow() }
            try await withGracefulShutdownHandler {
                try await pipeline.run()
            } onGracefulShutdown: {
                health.set(.notStopping, unmet: "stopping")
                pipeline.stop()
            }
            group.cancelAll()
        }
    }

    /// Exits for nothing that may come back: it says what is missing, and keeps trying.
    private func waitUntilReady(_ pool: PostgresPool, _ catalog: CatalogWatch) async throws {
        var lastReason: String?
        while true {
            let reason = await unreadiness(pool, catalog)
            guard let reason else { return }
            if reason != lastReason { logger.warning("waiting", [.reason: "\(reason)"]) }
            lastReason = reason
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func unreadiness(_ pool: PostgresPool, _ catalog: CatalogWatch) async -> String? {
        do {
            let state = try await pool.run { try Schema.check($0) }
            health.set(.databaseReachable, unmet: nil)
            let fault = try await pool.run { try DatabaseEncoding.fault(in: $0) }
            if let reason = fault ?? state.unreadiness {
                health.set(.schemaCurrent, unmet: reason)
                return reason
            }
            health.set(.schemaCurrent, unmet: nil)
            _ = try await OutcomeRetention(pool: pool, days: settings.outcomeRetentionDays).run()
            try await catalog.refresh()
        } catch {
            let reason = (error as? PostgresError)?.inWords ?? "PostgreSQL is out of reach"
            health.set(.databaseReachable, unmet: reason)
            return reason
        }
        let reason = catalog.catalog == nil ? "no catalog yet: run `receiptd catalog import FILE`" : nil
        health.set(.catalogImported, unmet: reason)
        return reason
    }
}
