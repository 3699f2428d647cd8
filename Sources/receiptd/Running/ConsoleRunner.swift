import Administration
import Console
import Ledger
import Logging
import Operations
import OperationsHTTP
import Postgres
import ReceiptdConfiguration
import ServiceLifecycle

/// Runs the console until a signal stops the process.
struct ConsoleRunner {
    /// The PostgreSQL sessions of the console. With several sessions, searches can run at the same time.
    private static let sessions = 4

    let settings: Settings
    let logger: Logger

    func run() async throws {
        let metrics = ReceiptdMetrics(version: Version.number)
        let health = Health(failures: Failures(metrics: metrics, logger: logger), needing: [.databaseReachable])
        metrics.registry.onScrape { metrics.ready.set(health.unmet.isEmpty) }
        try await withSchema(settings.database, sessions: Self.sessions) { pool in
            health.set(.databaseReachable, unmet: nil)
            let server = ConsoleServer(
                settings: settings.console, pool: pool, metrics: metrics, health: health, logger: logger)
            try await SignalledServices(
                services: [
                    EndlessService(part: .httpServer, service: server),
                    EndlessService(part: .failureReports, service: FailureReports(failures: health.failures)),
                    EndlessService(
                        part: .databaseWatch,
                        service: DatabaseWatch(pool: pool, health: health)),
                ], logger: logger
            ).run()
        }
    }
}

/// Checks whether PostgreSQL answers. At a shutdown, makes the process unready, so that load balancers notice it.
private struct DatabaseWatch: Service {
    private static let seconds = 5.0

    let pool: PostgresPool
    let health: Health

    func run() async throws {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown { await watch() }
        } onGracefulShutdown: {
            health.set(.notStopping, unmet: "stopping")
        }
    }

    private func watch() async {
        while !Task.isCancelled {
            do {
                _ = try await DatabaseClock.read(from: pool)
                health.failures.recovered(.console)
            } catch {
                health.failures.failed(.console, error)
            }
            guard (try? await Task.sleep(for: .seconds(Self.seconds))) != nil else { return }
        }
    }
}
