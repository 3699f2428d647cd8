import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The connections to all hosts, and the exchanges under way on them.
///
/// The pool does not limit the connections, because its callers limit the exchanges.
///
/// `@unchecked Sendable`: callers call every method on the thread of `loop`. On other threads they read only `loop`.
final class ConnectionPool: @unchecked Sendable {
    /// A sweep closes a connection that has been idle for this time.
    private static let idleTime = TimeAmount.seconds(60)
    private static let sweepInterval = TimeAmount.seconds(15)

    let loop: any EventLoop
    private let timeout: TimeAmount
    private let connectTimeout: TimeAmount
    private let tls: NIOSSLContext?

    private var exchanges = HTTPExchangeList()
    /// The idle connections of each origin. The connection that was used last is at the end. The pool takes it first.
    private var idle: [HTTPEndpoint.Origin: [HTTPConnection]] = [:]
    private var open: [ObjectIdentifier: HTTPConnection] = [:]
    private var connecting = 0
    private var deadline: Scheduled<Void>?
    private var sweep: Scheduled<Void>?
    private var isShutDown = false
    /// The task that waits in `shutdown`. The pool resumes it once no connection is being made.
    private var shutdownContinuation: CheckedContinuation<Void, Never>?

    init(loop: any EventLoop, timeout: TimeAmount, connectTimeout: TimeAmount, tls: NIOSSLContext?) {
        self.loop = loop
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.tls = tls
    }

    // MARK: Exchanges

    /// Starts an exchange. The pool resumes the continuation when the exchange ends.
    func start(_ exchange: HTTPExchange, _ continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>)
    {
        loop.assertInEventLoop()
        guard !isShutDown, !exchange.isCancelled else {
            return continuation.resume(returning: .failure(.connection(.lost)))
        }
        exchange.continuation = continuation
        exchange.deadline = .now() + timeout
        exchanges.append(exchange)
        if deadline == nil { watch(exchange.deadline) }
        let origin = exchange.origin
        while let connection = idle[origin]?.popLast() {
            if connection.isUsable { return connection.send(exchange, isReused: true) }
            connection.close()
        }
        connect(for: exchange)
    }

    func cancel(_ exchange: HTTPExchange) {
        loop.assertInEventLoop()
        exchange.isCancelled = true
        abandon(exchange, .connection(.lost))
    }

    /// Retries the exchange once on a new connection, within its time-out. Call it if the server closed the kept
    /// connection before it sent a byte of response.
    func retry(_ exchange: HTTPExchange) {
        exchange.connection = nil
        guard !isShutDown, !exchange.isRetried else { return end(exchange, .failure(.connection(.lost))) }
        exchange.isRetried = true
        connect(for: exchange)
    }

    func end(_ exchange: HTTPExchange, _ result: Result<HTTPResponse, HTTPFailure>) {
        guard let continuation = exchange.continuation.take() else { return }
        exchange.connection = nil
        exchanges.remove(exchange)
        continuation.resume(returning: result)
    }

    private func abandon(_ exchange: HTTPExchange, _ failure: HTTPFailure) {
        exchange.connection?.close()
        end(exchange, .failure(failure))
    }

    /// Ends the overdue exchanges at `time`, and sets the timer to the deadline of the first exchange that is left.
    /// Most often the exchange that set the timer has long ended.
    private func watch(_ time: NIODeadline) {
        deadline = loop.scheduleTask(deadline: time) {
            let now = NIODeadline.now()
            while let first = self.exchanges.first, first.deadline <= now { self.abandon(first, .timeout) }
            self.deadline = nil
            if let first = self.exchanges.first { self.watch(first.deadline) }
        }
    }

    // MARK: Connections

    private func connect(for exchange: HTTPExchange) {
        let origin = exchange.origin
        connecting += 1
        ClientBootstrap(group: loop)
            .connectTimeout(connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.configure(channel, for: origin) }
            }
            .connect(host: origin.host, port: origin.port)
            .whenComplete { result in
                self.connecting -= 1
                self.connected(result, for: exchange)
                if self.connecting == 0 { self.shutdownContinuation.take()?.resume() }
            }
    }

    private func configure(_ channel: any Channel, for origin: HTTPEndpoint.Origin) throws {
        let wire = HTTPWire()
        let pipeline = channel.pipeline.syncOperations
        if origin.isSecure, let tls {
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: origin.serverName))
        }
        try pipeline.addHandlers(
            wire, ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)),
            HTTPConnection(origin: origin, pool: self, wire: wire))
    }

    private func connected(_ result: Result<any Channel, any Error>, for exchange: HTTPExchange) {
        let isAwaited = exchange.continuation != nil
        switch result {
        case .success(let channel):
            guard let connection = try? channel.pipeline.syncOperations.handler(type: HTTPConnection.self) else {
                return end(exchange, .failure(.connection(.lost)))
            }
            if isShutDown {
                connection.close()
            } else if isAwaited {
                connection.send(exchange, isReused: false)
            } else if connection.isOpen {
                keep(connection)
            }
        case .failure(ChannelError.connectTimeout): end(exchange, .failure(.timeout))
        case .failure(let error): end(exchange, .failure(.connection(ConnectionFailure(error))))
        }
    }

    func opened(_ connection: HTTPConnection) { open[ObjectIdentifier(connection)] = connection }

    func closed(_ connection: HTTPConnection) { open[ObjectIdentifier(connection)] = nil }

    func keep(_ connection: HTTPConnection) {
        if isShutDown { return connection.close() }
        idle[connection.origin, default: []].append(connection)
        if sweep == nil { scheduleSweep() }
    }

    /// Removes a closed connection from the idle connections.
    func forget(_ connection: HTTPConnection) {
        idle[connection.origin]?.removeAll { $0 === connection }
    }

    private func scheduleSweep() {
        sweep = loop.scheduleTask(in: Self.sweepInterval) {
            self.sweep = nil
            self.closeIdle(since: .now() - Self.idleTime)
            if !self.idle.values.allSatisfy(\.isEmpty) { self.scheduleSweep() }
        }
    }

    func closeIdle(since time: NIODeadline) {
        for (origin, connections) in idle {
            // The longest idle connections come first.
            let stale = connections.prefix { $0.idleSince <= time }
            idle[origin]?.removeFirst(stale.count)
            for connection in stale { connection.close() }
        }
    }

    // MARK: End

    /// Fails the exchanges under way, closes all connections, and resumes once no connection is being made.
    func shutdown(_ continuation: CheckedContinuation<Void, Never>) {
        loop.assertInEventLoop()
        if isShutDown { return continuation.resume() }
        isShutDown = true
        deadline?.cancel()
        sweep?.cancel()
        while let first = exchanges.first { abandon(first, .connection(.lost)) }
        idle = [:]
        for connection in Array(open.values) { connection.close() }
        if connecting == 0 { continuation.resume() } else { shutdownContinuation = continuation }
    }
}
