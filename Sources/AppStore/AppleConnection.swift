import NIOCore
import NIOPosix
import NIOSSL

/// HTTP/1.1 to Apple over one pool of connections and one thread: an HTTP/2 connection would cap the requests in
/// flight at about a hundred, and costs more on both ends.
final class AppleConnection: Sendable {
    /// Seconds. A host that does not answer a SYN is not worth the whole time-out.
    private static let maximumConnectSeconds = 3.0
    /// How long a closed connection waits for the peer's TLS farewell.
    private static let maximumFarewell = TimeAmount.seconds(1)

    private let pool: ConnectionPool
    /// On the pool's thread.
    let executor: LoopExecutor

    /// - Parameter endpoints: what will be asked through it.
    init(_ settings: AppleSettings, to endpoints: [HTTPEndpoint]) throws(AppleSettingsFault) {
        guard settings.timeoutSeconds > 0, settings.timeoutSeconds.isFinite else {
            throw .notPositive(setting: "APPLE_TIMEOUT_SECONDS")
        }
        guard settings.maxConcurrency > 0 else { throw .notPositive(setting: "APPLE_MAX_CONCURRENCY") }
        var tls: NIOSSLContext?
        if settings.caFile != nil || endpoints.contains(where: \.origin.isSecure) {
            tls = try Self.tls(rootsAt: settings.caFile)
        }
        // Of NIO's own threads, which never end: whoever waits for one of its jobs gets it, also after the shutdown.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        executor = LoopExecutor(loop)
        pool = ConnectionPool(
            loop: loop, timeout: Self.amount(settings.timeoutSeconds),
            connectTimeout: Self.amount(min(Self.maximumConnectSeconds, settings.timeoutSeconds)), tls: tls)
    }

    private static func tls(rootsAt path: String?) throws(AppleSettingsFault) -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        tls.shutdownTimeout = maximumFarewell
        if let path {
            guard let roots = try? NIOSSLCertificate.fromPEMFile(path), !roots.isEmpty else {
                throw .noCertificates(path: path)
            }
            tls.trustRoots = .certificates(roots)
        }
        guard let context = try? NIOSSLContext(configuration: tls) else {
            throw .noCertificates(path: path ?? "the system's roots")
        }
        return context
    }

    private static func amount(_ seconds: Double) -> TimeAmount {
        .milliseconds(Int64(max(1, min(seconds, 86_400) * 1000)))
    }

    /// One request and its whole answer within the time-out. Cancelling the task drops the request.
    func send(_ exchange: HTTPExchange) async -> Result<HTTPAnswer, HTTPFailure> {
        let pool = pool
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if pool.loop.inEventLoop {
                    pool.start(exchange, continuation)
                } else {
                    pool.loop.execute { pool.start(exchange, continuation) }
                }
            }
        } onCancel: {
            pool.loop.execute { pool.cancel(exchange) }
        }
    }

    /// Ends what is in flight as a lost connection; later requests are the same. A second call returns at once.
    func shutdown() async {
        let pool = pool
        await withCheckedContinuation { continuation in
            pool.loop.execute { pool.shutdown(continuation) }
        }
    }
}
