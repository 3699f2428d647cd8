import AsyncHTTPClient
import Fulfillment
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// HTTP/1.1 to Apple over one pool of connections and one thread: an HTTP/2 connection would cap the requests in
/// flight at about a hundred, and costs more on both ends.
final class AppleConnection: Sendable {
    /// Seconds. A host that does not answer a SYN is not worth the whole time-out.
    private static let maximumConnectSeconds = 3.0
    /// Seconds after which an idle connection is closed.
    private static let idleSeconds: Int64 = 60

    private let client: HTTPClient
    private let group: MultiThreadedEventLoopGroup
    private let production: HTTPClient.Request
    private let sandbox: HTTPClient.Request
    private let timeout: TimeAmount

    private struct Traffic {
        var inFlight = 0
        var isShutDown = false
        /// Resumed when the last request has ended.
        var shutdown: CheckedContinuation<Void, Never>?
    }

    /// A future of a thread that has ended never completes: no request may begin after the shutdown has, and the thread
    /// must outlive the last one.
    private let traffic = Mutex(Traffic())

    init(_ settings: AppleSettings) throws(AppleSettingsFault) {
        guard settings.timeoutSeconds > 0, settings.timeoutSeconds.isFinite else {
            throw .notPositive(setting: "APPLE_TIMEOUT_SECONDS")
        }
        guard settings.maxConcurrency > 0 else { throw .notPositive(setting: "APPLE_MAX_CONCURRENCY") }
        production = try Self.request(settings.productionURL, setting: "APPLE_VERIFY_RECEIPT_PRODUCTION_URL")
        sandbox = try Self.request(settings.sandboxURL, setting: "APPLE_VERIFY_RECEIPT_SANDBOX_URL")
        timeout = Self.amount(settings.timeoutSeconds)

        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: Self.amount(min(Self.maximumConnectSeconds, settings.timeoutSeconds))),
            connectionPool: .init(
                idleTimeout: .seconds(Self.idleSeconds),
                concurrentHTTP1ConnectionsPerHostSoftLimit: settings.maxConcurrency))
        configuration.httpVersion = .http1Only
        // A refused connection is told at once: whoever asks has its own way of trying again.
        configuration.connectionPool.retryConnectionEstablishment = false
        if let path = settings.caFile { configuration.tlsConfiguration = try Self.tls(rootsAt: path) }
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    private static func request(_ url: String, setting: String) throws(AppleSettingsFault) -> HTTPClient.Request {
        let headers: HTTPHeaders = [
            "content-type": "application/json", "accept": "application/json", "user-agent": "receiptd",
        ]
        guard url.hasPrefix("https://") || url.hasPrefix("http://"),
            let request = try? HTTPClient.Request(url: url, method: .POST, headers: headers)
        else { throw .notAnHTTPURL(setting: setting) }
        return request
    }

    private static func tls(rootsAt path: String) throws(AppleSettingsFault) -> TLSConfiguration {
        guard let roots = try? NIOSSLCertificate.fromPEMFile(path), !roots.isEmpty else {
            throw .noCertificates(path: path)
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(roots)
        return tls
    }

    private static func amount(_ seconds: Double) -> TimeAmount {
        .milliseconds(Int64(max(1, min(seconds, 86_400) * 1000)))
    }

    /// One request and its whole answer within the time-out. Cancelling the task drops the request.
    func post(_ body: ByteBuffer, to environment: StoreEnvironment) async -> Result<HTTPAnswer, HTTPFailure> {
        guard begin() else { return .failure(.connection) }
        defer { end() }
        var request = environment == .production ? production : sandbox
        request.body = .byteBuffer(body)
        let task = client.execute(request: request, delegate: AnswerCollector(), deadline: .now() + timeout)
        do {
            return .success(
                try await withTaskCancellationHandler {
                    try await task.get()
                } onCancel: {
                    task.cancel()
                })
        } catch {
            return .failure(HTTPFailure(error))
        }
    }

    private func begin() -> Bool {
        traffic.withLock { traffic in
            if traffic.isShutDown { return false }
            traffic.inFlight += 1
            return true
        }
    }

    private func end() {
        let shutdown = traffic.withLock { traffic in
            traffic.inFlight -= 1
            return traffic.inFlight == 0 ? traffic.shutdown.take() : nil
        }
        shutdown?.resume()
    }

    /// Ends what is in flight as a lost connection; later requests are the same. A second call returns at once.
    func shutdown() async {
        let isFirst = traffic.withLock { traffic in
            defer { traffic.isShutDown = true }
            return !traffic.isShutDown
        }
        guard isFirst else { return }
        // Neither can fail but by having been shut down before, and this is the only place.
        try? await client.shutdown()
        await withCheckedContinuation { continuation in
            let isQuiet = traffic.withLock { traffic in
                if traffic.inFlight == 0 { return true }
                traffic.shutdown = continuation
                return false
            }
            if isQuiet { continuation.resume() }
        }
        try? await group.shutdownGracefully()
    }
}
