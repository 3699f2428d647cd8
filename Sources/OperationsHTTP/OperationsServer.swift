import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import Operations
public import ServiceLifecycle

/// The operators' HTTP server: `/livez`, `/readyz`, `/metrics`, and the worker's page at `/`.
///
/// It has no authentication, and shows no data of players. It belongs on an internal network, and listens on loopback
/// unless a setting names another address.
public struct OperationsServer: Service {
    private let host: String
    private let port: Int
    private let metrics: ReceiptdMetrics
    private let health: Health
    private let logger: Logger
    private let onBound: @Sendable (Int) -> Void
    private let about: [(name: String, value: String)]
    private let history = TrafficHistory()
    var connections = ConnectionTable.maximum

    /// - Parameters:
    ///   - port: the port; 0 takes a free port. `onBound` gets the port that the server listens on.
    ///   - about: the names and values with which the page identifies the process, such as its replica and its group.
    public init(
        host: String, port: Int, metrics: ReceiptdMetrics, health: Health, logger: Logger,
        about: [(name: String, value: String)] = [],
        onBound: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.about = about
        self.onBound = onBound
    }

    /// Serves until graceful shutdown or cancellation. Throws `OperationsServerError` if it cannot listen.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                while true {
                    sample()
                    try await Task.sleep(for: .seconds(TrafficHistory.sampleSeconds))
                }
            }
            try await GuardedServer(
                host: host, port: port, connections: connections, evicted: metrics.httpConnectionsEvicted,
                logger: logger, onBound: onBound
            ).run(router())
            tasks.cancelAll()
        }
    }

    private func sample() {
        history.add(TrafficHistory.Sample(StatusReport(metrics: metrics, health: health), metrics: metrics))
    }

    private func page() -> String {
        let report = StatusReport(metrics: metrics, health: health)
        let now = TrafficHistory.Sample(report, metrics: metrics)
        return StatusPage(
            report: report, now: now, before: history.reference(for: now.seconds), bins: history.bins(upTo: now),
            appleBounds: metrics.appleRequestDuration.upperBounds, about: about
        ).html
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.addProbes(metrics: metrics, health: health)
        router.get("status.json") { [metrics, health] _, _ in
            let report = try StatusReport(metrics: metrics, health: health).json()
            return Response(String(decoding: report, as: UTF8.self), type: "application/json")
        }
        router.get("/") { _, _ in
            var response = Response(page(), type: "text/html; charset=utf-8")
            response.headers[.contentSecurityPolicy] = PageShell.contentSecurityPolicy
            return response
        }
        return router
    }
}

extension Router where Context == BasicRequestContext {
    /// Adds the paths that an orchestrator and Prometheus request.
    package func addProbes(metrics: ReceiptdMetrics, health: Health) {
        get("livez") { _, _ in Response(health.livez()) }
        get("readyz") { _, _ in Response(health.readyz()) }
        get("metrics") { _, _ in Response(metrics.registry.render(), type: PrometheusText.contentType) }
    }
}

extension Response {
    init(_ answer: (ok: Bool, text: String)) {
        self.init(answer.text, type: "text/plain; charset=utf-8", status: answer.ok ? .ok : .serviceUnavailable)
    }

    init(_ text: String, type: String, status: HTTPResponse.Status = .ok) {
        let body = ByteBuffer(string: text)
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.contentLength] = String(body.readableBytes)
        // An answer is valid only for this moment.
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
