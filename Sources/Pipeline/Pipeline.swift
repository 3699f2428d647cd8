import Foundation
import Fulfillment
import Kafka
import Logging
import Operations

/// The worker's whole path from the submissions topic to the outcomes topic. Call `run` once.
public struct Pipeline: Sendable {
    private let settings: PipelineSettings
    private let worker: SubmissionWorker
    private let stores: PipelineStores
    private let publisher: OutcomePublisher
    /// The loops for all topics except the submissions topic.
    private let topics: [BatchedTopicLoop]
    private let leasing: [LeasingPart]
    private let health: Health
    private let logger: Logger
    private let inbox = Inbox()
    private let turn: IsolationTurn
    private let shutdown = ShutdownState()

    /// - Parameters:
    ///   - catalog: returns the newest catalog.
    ///   - notifications: the topic of Apple's notifications.
    ///   - accounts: the topic on which the game server names the players of account tokens.
    ///   - consumption: the topic on which the game server reports consumption.
    public init(
        settings: PipelineSettings, catalog: @escaping @Sendable () -> Catalog, verification: PipelineVerification,
        stores: PipelineStores, notifications: NotificationSource, accounts: PlayerAccountSource,
        consumption: ConsumptionSource, metrics: ReceiptdMetrics, health: Health, logger: Logger
    ) throws(KafkaError) {
        var settings = settings
        settings.kafkaVoice = KafkaVoice(besides: health.failures)
        self.settings = settings
        (self.stores, self.health, self.logger) = (stores, health, logger)
        turn = IsolationTurn(gauge: metrics.isolating)
        let pipelineMetrics = PipelineMetrics(metrics, failures: health.failures)
        publisher = try OutcomePublisher(settings: settings, health: health, logger: logger)
        let desk = AppleDesk(
            verification: verification, ledger: stores.ledger, subscriptions: stores.subscriptions,
            parking: ParkingContext(store: stores.parked, apple: verification.apple, settings: settings),
            metrics: pipelineMetrics, logger: logger)
        worker = SubmissionWorker(
            catalog: catalog, desk: desk, ledger: stores.ledger, publisher: publisher, lanes: PlayerLanes(),
            refusals: LocalRefusalChecks(perMinute: settings.apple.refusalChecksPerMinute))
        let holds = HeldPurchaseWorker(
            catalog: catalog, desk: desk, holds: stores.holds, publication: worker.publication)
        let notificationWorker = NotificationWorker(
            source: notifications, catalog: catalog, publisher: publisher, ledger: stores.ledger,
            queries: verification.queries, metrics: pipelineMetrics, logger: logger)
        let history = notifications.history.map { [turn] in
            NotificationHistoryPoll(source: $0, worker: notificationWorker, turn: turn, failures: health.failures)
        }
        let workers: [any BatchedTopicWorker] = [
            notificationWorker,
            PlayerAccountWorker(
                source: accounts,
                decoder: PlayerAccountDecoder(signingKeys: settings.signingKeys),
                publisher: publisher, metrics: pipelineMetrics, logger: logger),
            ConsumptionWorker(
                source: consumption,
                decoder: ConsumptionReportDecoder(signingKeys: settings.signingKeys),
                store: stores.refundRequests, publisher: publisher, metrics: pipelineMetrics, logger: logger),
        ]
        topics = workers.map { [turn, worker] in
            BatchedTopicLoop(
                worker: $0, checkpoints: stores.checkpoints, turn: turn, behind: worker.parking.leases, health: health,
                logger: logger)
        }
        leasing = Self.leasingLoops(
            worker: worker, holds: holds, history: history, settings: settings, catalog: catalog,
            verification: verification,
            stores: stores, metrics: metrics, health: health, logger: logger)
    }

    /// Consumes until `stop` is called. Returns when all work in flight is finished or abandoned, the offsets are
    /// committed, and the consumer has left the group. Throws if librdkafka refuses the settings, or if a part ends
    /// early.
    public func run() async throws {
        let orphans = Task { await supervise(.outboxSweep) { await publishOrphans() } }
        let broker = Task { [publisher, health] in
            await supervise(.brokerWatch) {
                await BrokerWatch(
                    ask: { (milliseconds) throws(KafkaError) in
                        try publisher.askBroker(timeoutMilliseconds: milliseconds)
                    }, health: health
                ).run()
            }
        }
        let topicWatch = Task { await supervise(.topicWatch) { await watchTopics() } }
        for (part, loop) in leasing { loop.start { await supervise(part, $0) } }
        async let read: Void = readTopics()
        await supervise(.consumerLoop) {
            let ending = await consume()
            if case .failure(let error) = ending { shutdown.consumerFailed(error) }
            try ending.get()
        }
        for topic in topics { topic.stop() }
        await read
        orphans.cancel()
        broker.cancel()
        topicWatch.cancel()
        // `stop` waits for work in the database. So all leasing loops are cancelled first, and do not stop one after
        // the other.
        for (_, loop) in leasing { loop.cancel() }
        for (_, loop) in leasing { await loop.stop() }
        await worker.refusals.stop()
        await withCheckedContinuation { continuation in
            BlockingWork.run { [publisher] in
                publisher.close()
                continuation.resume()
            }
        }
        if let failure = shutdown.failure { throw failure }
        if let ended = shutdown.ended { throw ended }
    }

    /// Runs a part until `stop` is called. If the part ends earlier, all parts stop, and `run` throws.
    private func supervise(_ part: EndlessPart, _ body: @Sendable () async throws -> Void) async {
        do {
            try await part.run(isStopping: { [shutdown] in shutdown.isStopping || Task.isCancelled }, body)
        } catch {
            logger.critical("a part of the process ended: the process stops", [.part: "\(part.rawValue)"])
            shutdown.partEnded(error)
            stop()
        }
    }

    /// Runs the consumer on a thread of its own, and returns when the thread has ended.
    private func consume() async -> Result<Void, KafkaError> {
        await withCheckedContinuation { continuation in
            let thread = Thread { [settings, worker, stores, topics, turn, inbox, health, logger] in
                let loop = ConsumerLoop(
                    settings: settings, worker: worker, stores: stores, topics: topics.map(\.topic), turn: turn,
                    inbox: inbox,
                    health: health, logger: logger)
                continuation.resume(returning: Result { () throws(KafkaError) in try loop.run() })
            }
            thread.name = "consumer"
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    private func watchTopics() async {
        let needed = [settings.submissionsTopic, settings.outcomesTopic, settings.deadLettersTopic]
        await TopicWatch.run(
            topics: needed.map { WatchedTopic(name: $0, isNeeded: true) }
                + topics.map { WatchedTopic(name: $0.topic.name, isNeeded: false) },
            properties: settings.consumerProperties,
            log: KafkaLog.forward(to: logger, folding: settings.kafkaVoice), health: health)
    }

    private func readTopics() async {
        await withTaskGroup(of: Void.self) { group in
            for topic in topics { group.addTask { await supervise(topic.topic.endlessPart) { await read(topic) } } }
        }
    }

    /// Runs the loop on a thread of its own, and returns when the thread has ended.
    private func read(_ loop: BatchedTopicLoop) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                loop.run()
                continuation.resume()
            }
            thread.name = loop.topic.part.rawValue
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// Makes `run` return. Any thread may call it, more than once.
    public func stop() {
        shutdown.stop()
        for topic in topics { topic.stop() }
        inbox.post(.stop)
    }

    private func publishOrphans() async {
        let relay = OutboxRelay(
            unpublished: stores.outbox, publisher: publisher, ledger: stores.ledger, metrics: worker.metrics,
            logger: logger)
        var untilOrphans = 0.0
        while !Task.isCancelled {
            if untilOrphans <= 0 { untilOrphans = PipelineLimits.orphanSeconds * Double.random(in: 0.5..<1.5) }
            let seconds = PipelineLimits.handedOverSeconds * Double.random(in: 0.5..<1.5)
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            untilOrphans -= seconds
            do {
                while try await relay.publishHandedOver() == PipelineLimits.orphanBatch {}
                if untilOrphans <= 0 { while try await relay.publishOrphans() == PipelineLimits.orphanBatch {} }
                health.failures.recovered(.outbox)
            } catch {
                health.failures.report(error, of: .outbox)
            }
        }
    }
}
