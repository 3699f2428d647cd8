import NIOCore
import NIOPosix
import NIOSSL

/// HTTP/1.1 over one pool of connections and one thread.
///
/// The client is for requests that may be sent twice. If the server closed a kept connection before it sent a byte of
/// response, the client repeats the request once. The client has no HTTP/2, no redirects and no proxies. It does not
/// limit the connections, because its callers limit the exchanges under way.
public final class HTTPClient: Sendable {
    public struct Settings: Sendable {
        /// The time-out of one exchange in seconds, from the connection to the response's last byte.
        public var timeoutSeconds: Double
        /// The file of PEM roots for TLS; nil for the system's roots.
        public var caFile: String?
        /// True to make a TLS context, which endpoints with `https` need.
        public var usesTLS: Bool

        public init(timeoutSeconds: Double, caFile: String? = nil, usesTLS: Bool) {
            self.timeoutSeconds = timeoutSeconds
            self.caFile = caFile
            self.usesTLS = usesTLS
        }
    }

    /// The file of root certificates is unreadable, or has no PEM certificate. `path` is nil for the system's roots.
    public struct NoCertificates: Error, Sendable, Equatable {
        public let path: String?
    }

    /// The most seconds for making a connection. A host that does not answer a SYN must not use up the whole time-out.
    private static let maximumConnectSeconds = 3.0
    /// When the client closes a connection, it waits at most this time for the peer's close_notify.
    private static let maximumCloseWait = TimeAmount.seconds(1)

    private let pool: ConnectionPool
    /// Runs tasks on the pool's thread.
    public let executor: LoopExecutor

    /// - Precondition: `timeoutSeconds` is positive and finite.
    public init(_ settings: Settings) throws(NoCertificates) {
        let tls = settings.usesTLS || settings.caFile != nil ? try Self.tls(rootsAt: settings.caFile) : nil
        // NIO's own threads never end, so each job on them is done, even after the shutdown.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        executor = LoopExecutor(loop)
        pool = ConnectionPool(
            loop: loop, timeout: Self.amount(settings.timeoutSeconds),
            connectTimeout: Self.amount(min(Self.maximumConnectSeconds, settings.timeoutSeconds)), tls: tls)
    }

    /// Returns true if a client can use the PEM certificates of the file at `path` as its roots.
    public static func holdsCertificates(_ path: String) -> Bool {
        (try? tls(rootsAt: path)) != nil
    }

    private static func tls(rootsAt path: String?) throws(NoCertificates) -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        tls.shutdownTimeout = maximumCloseWait
        if let path {
            guard let roots = try? NIOSSLCertificate.fromPEMFile(path), !roots.isEmpty else {
                throw NoCertificates(path: path)
            }
            tls.trustRoots = .certificates(roots)
        }
        guard let context = try? NIOSSLContext(configuration: tls) else { throw NoCertificates(path: path) }
        return context
    }

    private static func amount(_ seconds: Double) -> TimeAmount {
        .milliseconds(Int64(max(1, min(seconds, 86_400) * 1000)))
    }

    /// Sends one request and returns its whole response, within the time-out. Cancelling the task drops the request.
    public func send(_ exchange: HTTPExchange) async -> Result<HTTPResponse, HTTPFailure> {
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

    /// Fails the requests in flight and all later requests, as if the connection were lost. A second call returns at
    /// once.
    public func shutdown() async {
        let pool = pool
        await withCheckedContinuation { continuation in
            pool.loop.execute { pool.shutdown(continuation) }
        }
    }
}
