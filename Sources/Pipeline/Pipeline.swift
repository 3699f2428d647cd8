import Foundation
import Fulfillment
import Kafka
import Logging
import Operations

/// The flow from the submissions topic to the outcomes topic, in one value to be run once.
public struct Pipeline: Sendable {
    private let settings: PipelineSettings
    private let worker: SubmissionWorker
    private let stores: PipelineStores
    private let publisher: OutcomePublisher
    private let notifications: NotificationLoop
    private let health: Health
    private let logger: Logger
    private let inbox = Inbox()
    private let shutdown = ShutdownState()

    /// - Parameters:
    ///   - catalog: the newest one. There must be one before `run` is called.
    ///   - notifications: where Apple's come from.
    public init(
        settings: PipelineSettings, catalog: @escaping @Sendable () -> Catalog?, verification: PipelineVerification,
        stores: PipelineStores, notifications: NotificationSource, metrics: ReceiptdMetrics, health: Health,
        logger: Logger
    ) throws(KafkaError) {
        self.settings = settings
        self.stores = stores
        self.health = health
        self.logger = logger
        let pipelineMetrics = PipelineMetrics(metrics, failures: health.failures)
        publisher = try OutcomePublisher(settings: settings, health: health, logger: logger)
        worker = SubmissionWorker(
            catalog: catalog, parser: verification.parser, verifier: verification.verifier, ledger: stores.ledger,
            holds: stores.holds, publisher: publisher, lanes: PlayerLanes(),
            parking: ParkingContext(store: stores.parked, apple: verification.apple, settings: settings),
            metrics: pipelineMetrics, logger: logger)
        self.notifications = NotificationLoop(
            worker: NotificationWorker(
                source: notifications, catalog: catalog, publisher: publisher, ledger: stores.ledger,
                metrics: pipelineMetrics, logger: logger),
            checkpoints: stores.checkpoints, health: health, logger: logger)
    }

    /// Consumes until `stop` is called; returns when everything in flight is finished or given up, the offsets are
    /// committed and the group is left. Throws where librdkafka does not take the settings.
    public func run() async throws {
        let orphans = Task { await supervise(.outboxSweep) { await publishOrphans() } }
        let broker = Task { [publisher, health] in
            await supervise(.brokerWatch) { await BrokerWatch(publisher: publisher, health: health).run() }
        }
        let parked = LeaseLoop(
            ParkedSource(worker: worker, failures: health.failures, logger: logger), worker: worker, health: health)
        parked.start { await supervise(.parkedLoop, $0) }
        let held = LeaseLoop(HeldSource(worker: worker), worker: worker, health: health)
        held.start { await supervise(.heldLoop, $0) }
        async let notified: Void = supervise(.notificationLoop) { await readNotifications() }
        await supervise(.consumerLoop) {
            let ending = await consume()
            if case .failure(let error) = ending { shutdown.consumerFailed(error) }
            try ending.get()
        }
        notifications.stop()
        await notified
        orphans.cancel()
        broker.cancel()
        // Both at once: each waits a while for what is in the database.
        held.cancel()
        await parked.stop()
        await held.stop()
        await withCheckedContinuation { continuation in
            BlockingWork.run { [publisher] in
                publisher.close()
                continuation.resume()
            }
        }
        if let failure = shutdown.failure { throw failure }
        if let ended = shutdown.ended { throw ended }
    }

    /// Runs what is to run until `stop`. Where it ends before, all of it stops, and `run` throws.
    private func supervise(_ part: EndlessPart, _ body: @Sendable () async throws -> Void) async {
        do {
            try await part.run(isStopping: { [shutdown] in shutdown.isStopping || Task.isCancelled }, body)
        } catch {
            logger.critical("a part of the process ended: all of it stops", [.part: "\(part.rawValue)"])
            shutdown.partEnded(error)
            stop()
        }
    }

    /// Returns when the consumer's thread is done.
    private func consume() async -> Result<Void, KafkaError> {
        await withCheckedContinuation { continuation in
            let thread = Thread { [settings, worker, stores, inbox, health, logger] in
                let loop = ConsumerLoop(
                    settings: settings, worker: worker, unpublished: stores.outbox, checkpoints: stores.checkpoints,
                    inbox: inbox, health: health, logger: logger)
                continuation.resume(returning: Result { () throws(KafkaError) in try loop.run() })
            }
            thread.name = "consumer"
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// Returns when the thread is done that reads them.
    private func readNotifications() async {
        await withCheckedContinuation { continuation in
            let thread = Thread { [notifications] in
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
        shutdown.stop()
        notifications.stop()
        inbox.post(.stop)
    }

    private func publishOrphans() async {
        let relay = OutboxRelay(
            unpublished: stores.outbox, publisher: publisher, ledger: stores.ledger, logger: logger)
        while !Task.isCancelled {
            let seconds = PipelineLimits.orphanSeconds * Double.random(in: 0.5..<1.5)
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            do {
                while try await relay.publishOrphans() == PipelineLimits.orphanBatch {}
                health.failures.recovered(.outbox)
            } catch {
                health.failures.report(error, of: .outbox)
            }
        }
    }
}
