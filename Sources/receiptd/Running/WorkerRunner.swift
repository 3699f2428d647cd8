import Foundation
import Logging
import Operations
import ReceiptdConfiguration
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs a worker with its HTTP server until it is told to stop.
struct WorkerRunner {
    static let version = "0.1.0"

    let settings: Settings
    let secrets: SecretSource
    let logger: Logger
    var onBound: @Sendable (Int) -> Void = { _ in }

    func run() async throws {
        let metrics = ReceiptdMetrics(version: Self.version)
        let health = Health(failures: Failures(metrics: metrics, logger: logger))
        metrics.registry.onScrape { metrics.ready.set(health.unmet.isEmpty) }
        let (listening, listens) = AsyncStream.makeStream(of: Void.self)
        let server = OperationsServer(
            host: settings.http.host, port: settings.http.port, metrics: metrics, health: health, logger: logger,
            onBound: { [onBound] port in
                onBound(port)
                listens.finish()
            })
        let worker = WorkerService(
            settings: settings, secrets: secrets, metrics: metrics, health: health, logger: logger,
            start: { for await _ in listening {} })
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .notice)
        // Services stop in reverse order: the worker first, and /readyz tells of it meanwhile. Whichever ends, all stop in
        // order: a worker without its server could not be asked anything, and would not hear a signal.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: EndlessService(part: .httpServer, service: server),
                        successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(
                        service: EndlessService(
                            part: .failureReports, service: FailureReports(failures: health.failures)),
                        successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(
                        service: worker, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup),
                ],
                logger: quiet))
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let stopping = StoppingClock()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { await stop(group, on: signals, stopping) }
            try await tasks.next()
            tasks.cancelAll()
        }
        logger.info("stopped", [.durationSeconds: .stringConvertible(stopping.seconds)])
    }

    /// The first signal stops in order. The second ends the process at once, which is safe at any instant.
    private func stop(_ group: ServiceGroup, on signals: UnixSignalsSequence, _ stopping: StoppingClock) async {
        var count = 0
        for await signal in signals {
            count += 1
            if count > 1 { _exit(1) }
            logger.info("stopping", [.signal: "\(signal)"])
            stopping.start()
            await group.triggerGracefulShutdown()
        }
    }
}

/// From the first signal to the end, in seconds.
private final class StoppingClock: Sendable {
    private let began = Mutex<ContinuousClock.Instant?>(nil)

    func start() {
        began.withLock { $0 = .now }
    }

    var seconds: Double {
        let passed = began.withLock { $0.map { ContinuousClock.now - $0 } } ?? .zero
        return passed / .seconds(1)
    }
}
