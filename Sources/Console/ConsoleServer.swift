import BackOffice
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NamesAndTimes
import Operations
import OperationsHTTP
import Postgres
import ReceiptdConfiguration
import ServiceLifecycle

/// The console's HTTP server.
package struct ConsoleServer: Service {
    static let maximumConnections = 256

    private let settings: ConsoleSettings
    private let console: Console
    private let metrics: ReceiptdMetrics
    private let health: Health
    private let logger: Logger
    private let onBound: @Sendable (Int) -> Void

    /// Makes a server. With port 0 the system chooses a free port. `onBound` gets the port that the server listens on.
    package init(
        settings: ConsoleSettings, pool: PostgresPool, metrics: ReceiptdMetrics, health: Health, logger: Logger,
        onBound: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.settings = settings
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.onBound = onBound
        console = Console(settings: settings, pool: pool, metrics: metrics, logger: logger)
    }

    /// Serves until graceful shutdown or cancellation. Throws `OperationsServerError` if it cannot listen.
    package func run() async throws {
        let router = Router()
        router.addProbes(metrics: metrics, health: health)
        let pages = Router(context: BasicRequestContext.self)
        pages.add(
            middleware: ConsolePages(console: console, probes: router.buildResponder(), failures: health.failures))
        try await GuardedServer(
            host: settings.http.host, port: settings.http.port, connections: Self.maximumConnections,
            evicted: metrics.httpConnectionsEvicted, logger: logger, onBound: onBound
        ).run(pages)
    }
}

/// Passes every request to the console, except the orchestrator's probes and requests for the metrics.
private struct ConsolePages<Probes: HTTPResponder>: RouterMiddleware where Probes.Context == BasicRequestContext {
    typealias Context = BasicRequestContext

    let console: Console
    let probes: Probes
    let failures: Failures

    /// Returns true for a probe, or for a request for the metrics. A probe may have any `Host`, because an orchestrator
    /// may probe at any address of the pod. A request for the metrics must name a known host.
    private func isForProbes(_ request: Request) -> Bool {
        guard request.method == .get else { return false }
        return switch request.uri.path {
        case "/livez", "/readyz": true
        case "/metrics": console.hosts.contain(request.head.authority)
        default: false
        }
    }

    func handle(
        _ request: Request, context: BasicRequestContext,
        next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        if isForProbes(request) {
            return try await probes.respond(to: request, context: context)
        }
        let isHead = request.method == .head
        do {
            let answer = try await console.answer(try await ConsoleRequest(request))
            return answer.response(isHead: isHead)
        } catch let fault as ConsoleRequest.Fault {
            let answer =
                switch fault {
                case .unreadable: Console.text("The form or the address cannot be read.\n", .badRequest)
                case .tooLarge: Console.text("The form is too large.\n", .contentTooLarge)
                }
            var response = answer.response(isHead: isHead)
            // The server does not read the rest of the body, so the connection must end.
            response.headers[.connection] = "close"
            return response
        } catch let error as PostgresError {
            failures.failed(.console, error)
            return Console.message(
                "PostgreSQL does not answer as it should (\(error.sqlState ?? "no connection")). Try again; if you confirmed a change, look at Changes first.",
                .serviceUnavailable, title: "PostgreSQL", session: nil
            ).response(isHead: isHead)
        } catch is CancellationError {
            return Console.text("The console is stopping. Try again in a moment.\n", .serviceUnavailable).response(
                isHead: isHead)
        } catch {
            failures.failed(.console, error)
            return Console.message(
                "The console failed to answer. Its log says why: tell an operator.", .internalServerError,
                title: "Error", session: nil
            ).response(isHead: isHead)
        }
    }
}
