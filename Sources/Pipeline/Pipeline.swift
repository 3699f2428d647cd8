import Foundation
import Fulfillment
import Kafka
import Logging
import Operations

/// The flow from the submissions topic to the outcomes topic, in one value to be run once.
public struct Pipeline: Sendable {
    private let settings: PipelineSettings
    private let worker: SubmissionWorker
    private let unpublished: any UnpublishedEvents
    private let held: (any HeldPurchases)?
    private let checkpoints: any OffsetCheckpoints
    private let publisher: OutcomePublisher
    private let health: Health
    private let logger: Logger
    private let inbox = Inbox()
    private let notifications: NotificationLoop?
    private let supervisor = Supervisor()

    /// - Parameters:
    ///   - catalog: the newest one. There must be one before `run` is called.
    ///   - parser: reads and proves receipts without asking anyone.
    ///   - parked: where what cannot wait in memory waits, and what tells an outage from one submission's trouble; nil
    ///     where everything waits in memory.
    ///   - held: nil where no hold ever ends. It needs `parked`, with which it shares what Apple may be asked.
    ///   - notifications: nil where Apple's are not read.
    ///   - checkpoints: of the consumer group that the settings name.
    public init(
        settings: PipelineSettings, catalog: @escaping @Sendable () -> Catalog?, parser: any ProofParser,
        verifier: any ReceiptVerifier, ledger: any PurchaseLedger, unpublished: any UnpublishedEvents,
        parked: (store: any ParkedSubmissions, apple: any AppleState)? = nil, held: (any HeldPurchases)? = nil,
        notifications: NotificationSource? = nil, checkpoints: any OffsetCheckpoints, metrics: ReceiptdMetrics,
        health: Health, logger: Logger
    ) throws(KafkaError) {
        self.settings = settings
        self.unpublished = unpublished
        self.held = held
        self.checkpoints = checkpoints
        self.health = health
        self.logger = logger
        publisher = try OutcomePublisher(settings: settings, health: health, logger: logger)
        self.notifications = notifications.map { [publisher] source in
            NotificationLoop(
                worker: NotificationWorker(
                    source: source, catalog: catalog, publisher: publisher, ledger: ledger,
                    metrics: PipelineMetrics(metrics, failures: health.failures), logger: logger),
                checkpoints: checkpoints, health: health, logger: logger)
        }
        worker = SubmissionWorker(
            catalog: catalog, parser: parser, verifier: verifier, ledger: ledger, publisher: publisher,
            lanes: PlayerLanes(), retry: settings.retry, metrics: PipelineMetrics(metrics, failures: health.failures),
            logger: logger,
            parking: parked.map { ParkingDesk(store: $0.store, apple: $0.apple, settings: settings) })
    }

    /// Consumes until `stop` is called; returns when everything in flight is finished or given up, the offsets are
    /// committed and the group is left. Throws where librdkafka does not take the settings.
    public func run() async throws {
        let sweeper = Task { await supervise(.outboxSweep) { await sweepOrphans() } }
        let broker = Task { [publisher, health] in
            await supervise(.brokerWatch) { await BrokerWatch(publisher: publisher, health: health).run() }
        }
        let revisit = Revisit(worker: worker, health: health, logger: logger)
        revisit?.start { await supervise(.parkedLoop, $0) }
        let holds = held.flatMap { HoldRevisit(worker: worker, holds: $0, health: health, logger: logger) }
        holds?.start { await supervise(.heldLoop, $0) }
        async let notified: Void = superviseNotifications()
        await supervise(.consumerLoop) {
            let ending = await consume()
            if case .failure(let error) = ending { supervisor.note(error) }
            try ending.get()
        }
        notifications?.stop()
        await notified
        sweeper.cancel()
        broker.cancel()
        // Both at once: each waits a while for what is in the database.
        holds?.cancel()
        await revisit?.stop()
        await holds?.stop()
        await withCheckedContinuation { continuation in
            BlockingWork.run { [publisher] in
                publisher.close()
                continuation.resume()
            }
        }
        if let failure = supervisor.failure { throw failure }
        if let ended = supervisor.ended { throw ended }
    }

    /// Runs what is to run until `stop`. Where it ends before, all of it stops, and `run` throws.
    private func supervise(_ part: EndlessPart, _ body: @Sendable () async throws -> Void) async {
        do {
            try await part.run(isStopping: { [supervisor] in supervisor.isStopping || Task.isCancelled }, body)
        } catch {
            logger.critical("a part of the process ended: all of it stops", [.part: "\(part.rawValue)"])
            supervisor.note(error)
            stop()
        }
    }

    private func superviseNotifications() async {
        guard notifications != nil else { return }
        await supervise(.notificationLoop) { await readNotifications() }
    }

    /// Returns when the consumer's thread is done.
    private func consume() async -> Result<Void, KafkaError> {
        await withCheckedContinuation { continuation in
            let thread = Thread { [settings, worker, unpublished, checkpoints, inbox, health, logger] in
                let loop = ConsumerLoop(
                    settings: settings, worker: worker, unpublished: unpublished, checkpoints: checkpoints,
                    inbox: inbox,
                    health: health, logger: logger)
                continuation.resume(returning: Result { () throws(KafkaError) in try loop.run() })
            }
            thread.name = "consumer"
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// Returns when the thread is done that reads them.
    private func readNotifications() async {
        guard let notifications else { return }
        await withCheckedContinuation { continuation in
            let thread = Thread {
                notifications.run()
                continuation.resume()
            }
            thread.name = "notifications"
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// May be called from anywhere, any number of times.
    public func stop() {
        supervisor.stop()
        notifications?.stop()
        inbox.post(.stop)
    }

    private func sweepOrphans() async {
        let sweep = OutboxSweep(
            unpublished: unpublished, publisher: publisher, ledger: worker.ledger, logger: logger)
        while !Task.isCancelled {
            let seconds = PipelineLimits.sweepSeconds * Double.random(in: 0.5..<1.5)
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            do {
                while try await sweep.sweepOrphans() == PipelineLimits.sweepBatch {}
                health.failures.recovered(.outbox)
            } catch {
                health.failures.report(error, of: .outbox)
            }
        }
    }
}
