import Dispatch
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Operations
import Synchronization

/// An HTTP server that limits the number of connections, and closes silent and slow connections.
package struct GuardedServer: Sendable {
    /// The seconds between two log lines about closed connections.
    private static let floodLineSeconds = 60.0
    /// The most bytes of a request's header fields together, and the most fields.
    private static let maximumHeaderBytes = 16 * 1024
    private static let maximumHeaders = 100

    let host: String
    /// The port; 0 takes a free port. `onBound` gets the port that the server listens on.
    let port: Int
    let connections: Int
    /// The longest time from a request's head to its answer, in seconds.
    let requestSeconds: Double
    let evicted: Counter
    let logger: Logger
    let onBound: @Sendable (Int) -> Void

    package init(
        host: String, port: Int, connections: Int, requestSeconds: Double = .infinity, evicted: Counter, logger: Logger,
        onBound: @escaping @Sendable (Int) -> Void
    ) {
        self.host = host
        self.port = port
        self.connections = connections
        self.requestSeconds = requestSeconds
        self.evicted = evicted
        self.logger = logger
        self.onBound = onBound
    }

    /// Serves until graceful shutdown or cancellation. Throws `OperationsServerError` if it cannot listen.
    package func run(_ router: Router<BasicRequestContext>) async throws {
        // Hummingbird would log its start at info, which this server logs too.
        var serverLogger = logger
        serverLogger.logLevel = max(logger.logLevel, .notice)
        let bound = Bound()
        let table = ConnectionTable(maximum: connections, requestSeconds: requestSeconds)
        let application = Application(
            router: router, server: .http1(configuration: configuration(table)),
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
                tasks.addTask { try await sweep(table) }
                try await application.run()
                tasks.cancelAll()
            }
        } catch  where !bound.flag.load(ordering: .relaxed) && !(error is CancellationError) {
            throw OperationsServerError(host: host, port: port, cause: error)
        }
    }

    private func configuration(_ table: ConnectionTable) -> HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [ConnectionGuard(table: table, evicted: evicted, now: Self.now)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: Self.maximumHeaderBytes, maxHeaderListSize: Self.maximumHeaderBytes,
                maxHeaderFieldCount: Self.maximumHeaders))
    }

    /// Closes silent and slow connections every second, until its task is cancelled.
    private func sweep(_ table: ConnectionTable) async throws {
        var told = (count: evicted.value, at: -Self.floodLineSeconds)
        while true {
            try await Task.sleep(for: .seconds(ConnectionTable.sweepSeconds))
            table.closeOverdue(now: Self.now())
            let count = evicted.value
            guard count > told.count, Self.now() - told.at >= Self.floodLineSeconds else { continue }
            logger.warning(
                "too many HTTP connections: the server closes those that have been silent longest",
                [.count: .stringConvertible(count - told.count)])
            told = (count, Self.now())
        }
    }

    private static let now: @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

    /// True once the server has listened.
    private final class Bound: Sendable {
        let flag = Atomic(false)
    }
}
