import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import Operations
public import ServiceLifecycle

/// The HTTP server to which Apple posts notifications. Anybody who can reach the server may post. receiptd trusts only
/// a body that Apple has signed.
public struct IntakeServer: Service {
    /// The most bytes of a body. Apple's notifications have about a tenth of this.
    public static let maximumBodyBytes = 256 * 1024
    static let maximumConnections = 512
    /// The longest time from a request's head to its answer, in seconds. Apple waits for a shorter time.
    static let requestSeconds = 20.0

    private let host: String
    private let port: Int
    private let metrics: ReceiptdMetrics
    private let health: Health
    private let logger: Logger
    private let take: @Sendable ([UInt8]) async -> IntakeAnswer
    private let onBound: @Sendable (Int) -> Void
    var connections = Self.maximumConnections

    /// - Parameters:
    ///   - port: the port; 0 takes a free port. `onBound` gets the port that the server listens on.
    ///   - take: publishes a body, and returns the answer to it.
    public init(
        host: String, port: Int, metrics: ReceiptdMetrics, health: Health, logger: Logger,
        take: @escaping @Sendable ([UInt8]) async -> IntakeAnswer,
        onBound: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.take = take
        self.onBound = onBound
    }

    /// Serves until graceful shutdown or cancellation. Throws `OperationsServerError` if it cannot listen.
    public func run() async throws {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.addProbes(metrics: metrics, health: health)
        router.post("app-store-notifications") { [take] request, _ in try await Self.answer(to: request, take) }
        // If somebody opens the address in a browser, the answer says that the address is for Apple's POST requests.
        for method: HTTPRequest.Method in [.get, .put, .patch, .delete] {
            router.on("app-store-notifications", method: method) { _, _ in Self.onlyPosted }
        }
        try await GuardedServer(
            host: host, port: port, connections: connections, requestSeconds: Self.requestSeconds,
            evicted: metrics.httpConnectionsEvicted, logger: logger, onBound: onBound
        ).run(router)
    }

    private static func answer(
        to request: Request, _ take: @Sendable ([UInt8]) async -> IntakeAnswer
    ) async throws -> Response {
        if let told = request.headers[.contentLength].flatMap({ Int($0) }), told > maximumBodyBytes { return tooLarge }
        var body: [UInt8] = []
        for try await part in request.body {
            guard body.count + part.readableBytes <= maximumBodyBytes else { return tooLarge }
            body.append(contentsOf: part.readableBytesView)
        }
        return switch await take(body) {
        case .taken: text("taken", .ok)
        case .refused(let why): text(why, .badRequest)
        case .unavailable(let why): text(why, .serviceUnavailable)
        }
    }

    /// The answer to a body that is too large. The server then closes the connection, because it does not read the rest
    /// of the body.
    private static var tooLarge: Response {
        var response = text("the body is longer than \(maximumBodyBytes) bytes", .contentTooLarge)
        response.headers[.connection] = "close"
        return response
    }

    private static var onlyPosted: Response {
        var response = text("this address takes POST requests with Apple's notifications", .methodNotAllowed)
        response.headers[.allow] = "POST"
        return response
    }

    private static func text(_ words: String, _ status: HTTPResponse.Status) -> Response {
        Response(words + "\n", type: "text/plain; charset=utf-8", status: status)
    }
}
