import Administration
import AppStore
import AppleProofs
import Foundation
import Fulfillment
import Kafka
import Ledger
import Logging
import Monitoring
import Operations
import Pipeline
import Postgres
import ReceiptdConfiguration
import ServiceLifecycle

/// Runs the worker. The worker waits for PostgreSQL, its schema and a catalog, and consumes until the stop.
struct WorkerService: Service {
    /// The share of Apple's response time for which a small batch may wait for further decisions.
    private static let gatheringShare = 0.05

    let settings: Settings
    let secrets: SecretSource
    let metrics: ReceiptdMetrics
    let health: Health
    let logger: Logger
    /// Returns once the worker may begin: when its HTTP server listens.
    var start: @Sendable () async -> Void = {}
    private let latency = AppleLatency()

    func run() async throws {
        await cancelWhenGracefulShutdown(start)
        if Task.isShuttingDownGracefully { return }
        let pool = PostgresPool(
            configuration: settings.database.workerConfiguration, size: settings.database.poolSize, hung: noteHung)
        var ledgerLimits = PostgresLedger.Limits()
        // Two sessions stay free: one session for look-ups, and one for other work outside the ledger.
        ledgerLimits.writers = min(ledgerLimits.writers, max(1, settings.database.poolSize - 2))
        ledgerLimits.longestGatheringDelay = .seconds(settings.database.gatheringSeconds)
        ledgerLimits.gatheringBound = { [latency] in .seconds(latency.seconds * Self.gatheringShare) }
        let ledger = PostgresLedger(pool: pool, limits: ledgerLimits, observer: .reporting(to: metrics, health, logger))
        let parking = PostgresParking(
            pool: ledger.deciding, longestDelay: settings.retry.longestSeconds,
            mostUnprovenBytes: settings.retry.unprovenBytes,
            observer: .reporting(to: metrics, health, logger))
        // The request budget has its own pool, so that a lease of requests does not wait for a batch of decisions.
        let budgetPool = PostgresPool(configuration: settings.database.workerConfiguration, size: 1, hung: noteHung)
        let limit = ShutdownLimit(seconds: settings.shutdownGraceSeconds, pools: [pool, budgetPool], logger: logger)
        let limits = AppleLimits(
            maxConcurrency: settings.apple.maxConcurrency, maxRequestsPerSecond: settings.apple.maxRequestsPerSecond,
            budget: PostgresAppleBudget(pool: budgetPool), observer: appleMetrics())
        let catalog = CatalogWatch(
            store: CatalogStore(pool: pool), logger: logger, failures: health.failures
        ) { catalog in
            let apps = catalog.apps.values.filter { $0.serverAPI != nil }.map(\.bundleID)
            limits.keepCredentials(of: Set(apps), endpoint: ServerAPIClient.endpoint)
        }
        let reach = AppleReachWatch.reporting(to: metrics, logger)
        let verifier = try client(limits, reach)
        settings.tellForeignRoots(metrics, logger)
        var failure: (any Error)?
        do {
            try await withGracefulShutdownHandler {
                let first = try await cancelWhenGracefulShutdown { try await waitUntilReady(pool, catalog) }
                try await consume(first, catalog, verifier, limits, reach, ledger, parking, pool)
            } onGracefulShutdown: {
                limit.start()
            }
        } catch is CancellationError {
            logger.info("the worker stopped before it read a record")
        } catch {
            failure = error
        }
        await parking.close()
        await ledger.close()
        await verifier.shutdown()
        await budgetPool.close()
        await pool.close()
        limit.end()
        if let failure { throw failure }
    }

    /// Counts and logs a session that did not answer in time. Another session repeats the work.
    private var noteHung: @Sendable (HungSession) -> Void {
        { [logger, health] hung in
            health.failures.count(.postgresql)
            logger.warning(
                "a PostgreSQL session hangs: another session repeats its work",
                [
                    .count: .stringConvertible(hung.count), .detail: "\(hung.wasCommitting ? "COMMIT" : "statement")",
                    .processID: .stringConvertible(hung.processID),
                ])
            if hung.isLast {
                logger.error(
                    "too many PostgreSQL sessions hang: the worker no longer replaces a hung session, and waits for it",
                    [.count: .stringConvertible(hung.count)])
            }
        }
    }

    private func appleMetrics(_ reach: AppleReachWatch? = nil) -> AppleMetrics {
        AppleMetrics(metrics: metrics, logger: logger, failures: health.failures, latency: latency, reach: reach)
    }

    private func client(_ limits: AppleLimits, _ reach: AppleReachWatch) throws -> AppStoreClient {
        let secret: @Sendable (String) -> String? = { [secrets] in secrets.secret(named: $0) }
        let observer = appleMetrics(reach)
        return AppStoreClient(
            receipts: try VerifyReceiptClient(
                settings: settings.apple.client, secrets: secret, limits: limits, observer: observer),
            transactions: try ServerAPIClient(
                settings: settings.apple.client, secrets: secret, proofs: ProofReader(roots: settings.apple.roots),
                limits: limits, observer: observer))
    }

    private func consume(
        _ first: Catalog, _ watch: CatalogWatch, _ verifier: AppStoreClient, _ limits: AppleLimits,
        _ reach: AppleReachWatch, _ ledger: PostgresLedger, _ parking: PostgresParking, _ pool: PostgresPool
    ) async throws {
        let catalog: @Sendable () -> Catalog = { watch.newest(since: first) }
        let proofs = ProofReader(roots: settings.apple.roots)
        let outboxFloor = PollFloor(.outbox)
        let pipeline = try Pipeline(
            settings: settings.pipeline, catalog: catalog,
            verification: PipelineVerification(
                parser: proofs, verifier: verifier, queries: verifier.transactions, apple: limits),
            stores: PipelineStores(
                ledger: ledger,
                outbox: PostgresOutbox(ledger: ledger, sweeper: OutboxSweeper(pool: pool, floor: outboxFloor)),
                parked: parking,
                holds: PostgresHolds(pool: ledger.deciding, longestDelay: settings.retry.longestSeconds),
                subscriptions: PostgresSubscriptions(pool: ledger.deciding),
                checkpoints: PostgresCheckpoints(pool: pool, group: settings.kafka.groupID),
                claims: PostgresClaims(pool: pool),
                announced: PostgresAnnouncements(
                    pool: ledger.deciding, waitSeconds: settings.announcements.missedPurchaseSeconds,
                    appleSeconds: settings.apple.timeoutSeconds, observer: .reporting(to: metrics, health, logger)),
                finishes: PostgresFinishes(pool: ledger.deciding),
                refundRequests: PostgresRefundRequests(pool: ledger.deciding)),
            notifications: NotificationSource(
                topic: settings.kafka.notificationsTopic,
                consumerProperties: KafkaClientProperties(settings: settings.kafka).notificationsConsumer,
                parser: proofs, notices: PostgresNotices(pool: ledger.deciding, fallBacks: ledger.fallBacks),
                history: NotificationHistorySource(
                    queries: verifier.transactions, places: PostgresHistoryPlaces(pool: pool),
                    seconds: settings.announcements.historySeconds, days: settings.announcements.historyDays)),
            accounts: PlayerAccountSource(
                topic: settings.kafka.accountsTopic,
                consumerProperties: KafkaClientProperties(settings: settings.kafka).accountsConsumer,
                accounts: PostgresPlayerAccounts(pool: ledger.deciding)),
            consumption: ConsumptionSource(
                topic: settings.kafka.consumptionTopic,
                consumerProperties: KafkaClientProperties(settings: settings.kafka).consumptionConsumer),
            metrics: metrics, health: health, logger: logger)
        let fleetCounts = FleetCounts(
            pool: pool, outboxFloor: outboxFloor, catalog: catalog, metrics: metrics, health: health,
            logger: logger)
        let maintenance = PartitionMaintenance(
            retention: OutcomeRetention(pool: pool, days: settings.outcomeRetentionDays), metrics: metrics,
            failures: health.failures, logger: logger)
        let clocks = ClockWatch(pool: pool, metrics: metrics, failures: health.failures)
        let traffic = TrafficCounting(pool: pool, metrics: metrics, failures: health.failures)
        let incidents = IncidentKeeping(pool: pool, incidents: metrics.incidents, failures: health.failures)
        try await run(
            pipeline,
            beside: [
                { try await EndlessPart.catalogWatch.run { await watch.follow() } },
                { try await EndlessPart.fleetCounts.run { await fleetCounts.run() } },
                { try await EndlessPart.maintenance.run { await maintenance.run() } },
                { try await EndlessPart.appleLimits.run { await limits.follow() } },
                { try await EndlessPart.appleReach.run { await reach.follow() } },
                { try await EndlessPart.clockWatch.run { await clocks.run() } },
                { try await EndlessPart.trafficCounts.run { await traffic.run() } },
                { try await EndlessPart.incidentKeeping.run { await incidents.run() } },
            ])
        await traffic.tellLast()
        await incidents.keepLast()
    }

    private enum Ended: Sendable {
        case pipeline(Result<Void, any Error>)
        case other
    }

    /// Runs the pipeline and the other tasks until the process stops. If one of the other tasks throws, the pipeline
    /// stops as at a signal. Once the pipeline has ended, the other tasks are cancelled.
    private func run(_ pipeline: Pipeline, beside others: [@Sendable () async throws -> Void]) async throws {
        try await withThrowingTaskGroup(of: Ended.self) { group in
            for other in others {
                group.addTask {
                    try await other()
                    return .other
                }
            }
            group.addTask { [health] in
                await withGracefulShutdownHandler {
                    do { return .pipeline(.success(try await pipeline.run())) } catch {
                        return .pipeline(.failure(error))
                    }
                } onGracefulShutdown: {
                    health.set(.notStopping, unmet: "stopping")
                    pipeline.stop()
                }
            }
            var failure: (any Error)?
            while let ended = await group.nextResult() {
                switch ended {
                case .success(.other): break
                case .success(.pipeline(let result)):
                    if case .failure(let error) = result { failure = failure ?? error }
                    group.cancelAll()
                case .failure(let error):
                    failure = failure ?? error
                    logger.critical("a part of the process ended: the process stops", [.error: "\(error)"])
                    health.set(.notStopping, unmet: "stopping: \(error)")
                    pipeline.stop()
                }
            }
            if let failure { throw failure }
        }
    }

    /// The seconds before the log repeats an unchanged reason.
    private static let waitingLinePause = Duration.seconds(60)

    /// Waits for PostgreSQL, its schema and a catalog. Logs why the worker waits, and tries again.
    private func waitUntilReady(_ pool: PostgresPool, _ watch: CatalogWatch) async throws -> Catalog {
        var told: (reason: String, at: ContinuousClock.Instant)?
        while true {
            let reason: String
            switch await awaited(pool, watch) {
            case .catalog(let first): return first
            case .missing(let missing): reason = missing
            }
            if told?.reason != reason || told.map({ .now - $0.at > Self.waitingLinePause }) ?? true {
                logger.warning("waiting", [.reason: "\(reason)"])
                told = (reason, .now)
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func awaited(_ pool: PostgresPool, _ watch: CatalogWatch) async -> CatalogWatch.Awaited {
        do {
            let state = try await pool.run { try Schema.check($0) }
            health.set(.databaseReachable, unmet: nil)
            let fault = try await pool.run { try DatabaseEncoding.fault(in: $0) }
            if let reason = fault ?? state.unreadiness {
                health.set(.schemaCurrent, unmet: reason)
                return .missing(reason)
            }
            health.set(.schemaCurrent, unmet: nil)
            try await watch.refresh()
        } catch {
            health.failures.count(.postgresql)
            let reason = Self.reason(error)
            health.set(.databaseReachable, unmet: reason)
            return .missing(reason)
        }
        let awaited = watch.awaited
        if case .missing(let reason) = awaited {
            health.set(.catalogImported, unmet: reason)
        } else {
            health.set(.catalogImported, unmet: nil)
        }
        return awaited
    }

    /// Returns PostgreSQL's message with a remedy. A refused password does not end the worker, because an operator may
    /// be changing the password.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? PostgresError else { return "PostgreSQL cannot be used: \(type(of: error))" }
        return switch error.kind {
        case .connection, .commitOutcomeUnknown:
            "PostgreSQL is out of reach: \(error.message): "
                + "run `receiptd check`, which tries DATABASE_URL"
        case .data, .retriable, .other:
            "PostgreSQL refuses the worker's statement: \(error.sqlState ?? "") \(error.message): "
                + "run `receiptd check`, which names the fault"
        }
    }
}
