import NIOCore
import NIOPosix
import NIOSSL

/// HTTP/1.1 over one pool of connections and one thread.
///
/// For requests that may be sent twice: one whose kept connection turns out to have been closed by the server before a byte
/// of response goes out again, once. Speaks no HTTP/2, follows no redirect and knows no proxy. Bounds no connections: whoever
/// sends bounds the exchanges under way.
public final class HTTPClient: Sendable {
    public struct Settings: Sendable {
        /// Seconds for one exchange: connection, request and the response's last byte.
        public var timeoutSeconds: Double
        /// PEM roots for TLS. Nil takes the system's.
        public var caFile: String?
        /// Makes a context for TLS also where no endpoint asks for one.
        public var usesTLS: Bool

        public init(timeoutSeconds: Double, caFile: String? = nil, usesTLS: Bool) {
            self.timeoutSeconds = timeoutSeconds
            self.caFile = caFile
            self.usesTLS = usesTLS
        }
    }

    /// The file of roots cannot be read or holds no PEM certificate; nil names the system's roots.
    public struct NoCertificates: Error, Sendable, Equatable {
        public let path: String?
    }

    /// Seconds. A host that does not answer a SYN is not worth the whole time-out.
    private static let maximumConnectSeconds = 3.0
    /// The time that a closed connection waits for the peer's close_notify.
    private static let maximumCloseWait = TimeAmount.seconds(1)

    private let pool: ConnectionPool
    /// Runs tasks on the pool's thread.
    public let executor: LoopExecutor

    /// - Precondition: `timeoutSeconds` is positive and finite.
    public init(_ settings: Settings) throws(NoCertificates) {
        let tls = settings.usesTLS || settings.caFile != nil ? try Self.tls(rootsAt: settings.caFile) : nil
        // NIO's own threads never end: each job on them is done, also after the shutdown.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        executor = LoopExecutor(loop)
        pool = ConnectionPool(
            loop: loop, timeout: Self.amount(settings.timeoutSeconds),
            connectTimeout: Self.amount(min(Self.maximumConnectSeconds, settings.timeoutSeconds)), tls: tls)
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

    /// One request and its whole response within the time-out. Cancelling the task drops the request.
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

    /// Ends requests in flight as a lost connection; later requests are the same. A second call returns at once.
    public func shutdown() async {
        let pool = pool
        await withCheckedContinuation { continuation in
            pool.loop.execute { pool.shutdown(continuation) }
        }
    }
}
