import Foundation
import Logging
import Operations
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs services until SIGTERM or SIGINT, or until a service ends. Then stops them in reverse order.
struct SignalledServices {
    let services: [any Service]
    let logger: Logger

    func run() async throws {
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .notice)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    .init(
                        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                },
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

    /// Stops the services in order at the first signal. A second signal ends the process at once, which loses no data.
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

/// Measures the seconds since the first signal.
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
