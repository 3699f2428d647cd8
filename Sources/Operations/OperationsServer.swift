import Dispatch
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle
import Synchronization

/// The operators' HTTP server: `/livez`, `/readyz`, `/metrics`, and a live page at `/`.
///
/// It has no authentication and tells no player's data; it belongs on an internal network, and listens on loopback
/// unless told otherwise.
public struct OperationsServer: Service {
    /// Between two lines about closed connections.
    private static let floodLineSeconds = 60.0

    private let host: String
    private let port: Int
    private let metrics: ReceiptdMetrics
    private let health: Health
    private let logger: Logger
    private let onBound: @Sendable (Int) -> Void

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
        // Hummingbird logs its start at info, too; our line is enough.
        var serverLogger = logger
        serverLogger.logLevel = max(logger.logLevel, .notice)
        let bound = Bound()
        let table = ConnectionTable()
        let now: @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
        let application = Application(
            router: router(),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionGuard(table: table, evicted: metrics.httpConnectionsEvicted, now: now)
                    ])),
            configuration: .init(address: .hostname(host, port: port)),
            onServerRunning: { [logger, host, onBound] channel in
                bound.flag.store(true, ordering: .relaxed)
                let port = channel.localAddress?.port ?? 0
                logger.info("HTTP server listens", [.host: "\(host)", .port: .stringConvertible(port)])
                onBound(port)
            },
            logger: serverLogger)
        do {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    var told = (count: 0, at: -Self.floodLineSeconds)
                    while true {
                        try await Task.sleep(for: .seconds(ConnectionTable.sweepSeconds))
                        table.closeOverdue(now: now())
                        let evicted = metrics.httpConnectionsEvicted.value
                        guard evicted > told.count, now() - told.at >= Self.floodLineSeconds else { continue }
                        logger.warning(
                            "HTTP connections are closed, for there are too many",
                            [.count: .stringConvertible(evicted - told.count)])
                        told = (evicted, now())
                    }
                }
                try await application.run()
                tasks.cancelAll()
            }
        } catch  where !bound.flag.load(ordering: .relaxed) && !(error is CancellationError) {
            throw OperationsServerError(host: host, port: port, cause: error)
        }
    }

    /// Whether the server ever listened.
    private final class Bound: Sendable {
        let flag = Atomic(false)
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("livez") { [health] _, _ in Self.response(to: health.livez()) }
        router.get("readyz") { [health] _, _ in Self.response(to: health.readyz()) }
        router.get("metrics") { [metrics] _, _ in
            Self.response(metrics.registry.render(), type: PrometheusText.contentType)
        }
        router.get("status.json") { [metrics, health] _, _ in
            let report = try StatusReport(metrics: metrics, health: health).json()
            return Self.response(String(decoding: report, as: UTF8.self), type: "application/json")
        }
        router.get("/") { _, _ in
            var response = Self.response(LivePage.html, type: "text/html; charset=utf-8")
            response.headers[.contentSecurityPolicy] = LivePage.contentSecurityPolicy
            return response
        }
        return router
    }

    private static func response(to answer: (ok: Bool, text: String)) -> Response {
        response(answer.text, type: "text/plain; charset=utf-8", status: answer.ok ? .ok : .serviceUnavailable)
    }

    private static func response(_ text: String, type: String, status: HTTPResponse.Status = .ok) -> Response {
        let body = ByteBuffer(string: text)
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.contentLength] = String(body.readableBytes)
        // Each answer is a moment's.
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
