import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle

/// The operators' HTTP server: `/livez`, `/readyz`, `/metrics`, and a live page at `/`.
///
/// It has no authentication and tells no player's data; it belongs on an internal network, and listens on loopback
/// unless told otherwise.
public struct OperationsServer: Service {
    private let host: String
    private let port: Int
    private let metrics: ReceiptdMetrics
    private let health: Health
    private let logger: Logger
    private let onBound: @Sendable (Int) -> Void
    var connections = ConnectionTable.maximum

    /// Port 0 takes a free one; `onBound` is told which, once the server listens.
    public init(
        host: String, port: Int, metrics: ReceiptdMetrics, health: Health, logger: Logger,
        onBound: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.onBound = onBound
    }

    /// Serves until graceful shutdown or cancellation. Throws `OperationsServerError` if it cannot listen.
    public func run() async throws {
        try await GuardedServer(
            host: host, port: port, connections: connections, evicted: metrics.httpConnectionsEvicted, logger: logger,
            onBound: onBound
        ).run(router())
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.addProbes(metrics: metrics, health: health)
        router.get("status.json") { [metrics, health] _, _ in
            let report = try StatusReport(metrics: metrics, health: health).json()
            return Response(String(decoding: report, as: UTF8.self), type: "application/json")
        }
        router.get("/") { _, _ in
            var response = Response(LivePage.html, type: "text/html; charset=utf-8")
            response.headers[.contentSecurityPolicy] = LivePage.contentSecurityPolicy
            return response
        }
        return router
    }
}

extension Router where Context == BasicRequestContext {
    /// What orchestrators and Prometheus ask.
    func addProbes(metrics: ReceiptdMetrics, health: Health) {
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
        // Each answer is a moment's.
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
