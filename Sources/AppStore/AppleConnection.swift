import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// HTTP/1.1 to Apple over one pool of connections and one thread: an HTTP/2 connection would cap the requests in
/// flight at about a hundred, and costs more on both ends.
final class AppleConnection: Sendable {
    /// Seconds. A host that does not answer a SYN is not worth the whole time-out.
    private static let maximumConnectSeconds = 3.0
    /// How long a closed connection waits for the peer's TLS farewell.
    private static let maximumFarewell = TimeAmount.seconds(1)

    private let group: MultiThreadedEventLoopGroup
    private let pool: ConnectionPool

    private struct Traffic {
        var inFlight = 0
        var isShutDown = false
        /// Resumed when the last request has ended.
        var shutdown: CheckedContinuation<Void, Never>?
    }

    /// What a thread that has ended is given never runs: no request may begin after the shutdown has, and the thread
    /// must outlive the last one.
    private let traffic = Mutex(Traffic())

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
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        pool = ConnectionPool(
            loop: group.next(), timeout: Self.amount(settings.timeoutSeconds),
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
        guard begin() else { return .failure(.connection) }
        defer { end() }
        let pool = pool
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pool.loop.execute { pool.start(exchange, continuation) }
            }
        } onCancel: {
            pool.loop.execute { pool.cancel(exchange) }
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
        let pool = pool
        await withCheckedContinuation { continuation in
            pool.loop.execute { pool.shutdown(continuation) }
        }
        await withCheckedContinuation { continuation in
            let isQuiet = traffic.withLock { traffic in
                if traffic.inFlight == 0 { return true }
                traffic.shutdown = continuation
                return false
            }
            if isQuiet { continuation.resume() }
        }
        // Cannot fail but by having been shut down before, and this is the only place.
        try? await group.shutdownGracefully()
    }
}
