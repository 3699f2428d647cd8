import Foundation
import Logging
import Operations
import OperationsHTTP
import ReceiptdConfiguration
import ServiceLifecycle

/// Runs a worker with its HTTP server until a signal stops the process.
struct WorkerRunner {
    let settings: Settings
    let secrets: SecretSource
    let logger: Logger
    var onBound: @Sendable (Int) -> Void = { _ in }

    func run() async throws {
        let metrics = ReceiptdMetrics(version: Version.number)
        let health = Health(failures: Failures(metrics: metrics, logger: logger))
        metrics.registry.onScrape { metrics.ready.set(health.unmet.isEmpty) }
        let (listening, listens) = AsyncStream.makeStream(of: Void.self)
        let server = OperationsServer(
            host: settings.http.host, port: settings.http.port, metrics: metrics, health: health, logger: logger,
            about: about,
            onBound: { [onBound] port in
                onBound(port)
                listens.finish()
            })
        let worker = WorkerService(
            settings: settings, secrets: secrets, metrics: metrics, health: health, logger: logger,
            start: { for await _ in listening {} })
        // Services stop in reverse order. The worker stops first, and `/readyz` reports the stop meanwhile. If a
        // service ends by itself, all services stop. Otherwise a worker could run without a server to show its health.
        try await SignalledServices(
            services: [
                EndlessService(part: .httpServer, service: server),
                EndlessService(part: .failureReports, service: FailureReports(failures: health.failures)), worker,
            ], logger: logger
        ).run()
    }

    /// The names and values on the worker's page that identify this replica.
    private var about: [(name: String, value: String)] {
        let process = ProcessInfo.processInfo
        return [
            ("Replica", "\(process.hostName), process \(process.processIdentifier)"), ("Group", settings.kafka.groupID),
            ("Submissions", settings.kafka.submissionsTopic), ("Outcomes", settings.kafka.outcomesTopic),
        ]
    }
}
