import AppleProofs
import Logging
import Monitoring
import Operations
import OperationsHTTP
import Pipeline
import ReceiptdConfiguration
import ServiceLifecycle

/// Runs the server for Apple's notifications until a signal stops the process.
struct IntakeRunner {
    let settings: Settings
    let logger: Logger

    func run() async throws {
        let metrics = ReceiptdMetrics(version: Version.number)
        let health = Health(
            failures: Failures(metrics: metrics, logger: logger), needing: [.brokerReached, .topicsFound])
        metrics.registry.onScrape { metrics.ready.set(health.unmet.isEmpty) }
        settings.tellForeignRoots(metrics, logger)
        let intake = try NotificationIntake(
            topic: settings.kafka.notificationsTopic,
            producerProperties: KafkaClientProperties(settings: settings.kafka).producer,
            parser: ProofReader(roots: settings.apple.roots), bundleIDs: settings.announcements.intake.apps.bundleIDs,
            metrics: metrics,
            health: health, logger: logger)
        let server = IntakeServer(
            host: settings.announcements.intake.http.host, port: settings.announcements.intake.http.port,
            metrics: metrics, health: health,
            logger: logger, take: { await intake.take($0) })
        var failure: (any Error)?
        do {
            // Services stop in reverse order. The server stops last, so that it answers requests until then.
            try await SignalledServices(
                services: [
                    EndlessService(part: .httpServer, service: server),
                    EndlessService(part: .failureReports, service: FailureReports(failures: health.failures)),
                    EndlessService(part: .brokerWatch, service: IntakeWatch(intake: intake, health: health)),
                ], logger: logger
            ).run()
        } catch {
            failure = error
        }
        await intake.close()
        if let failure { throw failure }
    }
}

/// Checks whether Kafka answers. At a shutdown, makes the process unready, so that load balancers notice it.
private struct IntakeWatch: Service {
    let intake: NotificationIntake
    let health: Health

    func run() async throws {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown { await intake.watch() }
        } onGracefulShutdown: {
            health.set(.notStopping, unmet: "stopping")
        }
    }
}
