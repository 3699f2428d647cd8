import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// One connection, with at most one exchange on it. The connection and its pool share one event loop.
final class HTTPConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private enum State {
        case idle
        case awaitingHead(HTTPExchange)
        case readingBody(HTTPExchange)
        case closed
    }

    let origin: HTTPEndpoint.Origin
    /// The time at which the connection was made or its last exchange ended. The value is meaningless during an
    /// exchange.
    private(set) var idleSince = NIODeadline.now()

    private let pool: ConnectionPool
    private let wire: HTTPWire
    private var context: ChannelHandlerContext?
    private var state = State.idle
    /// The gathered response; nil if no body is being read. It is not a part of `state`, so that the body grows in
    /// place.
    private var collector: ResponseCollector?
    /// True if the present exchange began on a kept connection, which the server may have closed already.
    private var isReused = false
    private var isKept = true

    init(origin: HTTPEndpoint.Origin, pool: ConnectionPool, wire: HTTPWire) {
        self.origin = origin
        self.pool = pool
        self.wire = wire
    }

    var isOpen: Bool {
        if case .closed = state { return false }
        return context?.channel.isActive ?? false
    }

    /// True if the connection is open, and the server has sent no byte since the last response.
    var isUsable: Bool { isOpen && !wire.hasRead }

    func send(_ exchange: HTTPExchange, isReused: Bool) {
        guard let context, isOpen else { return pool.end(exchange, .failure(.connection(.lost))) }
        self.isReused = isReused
        exchange.connection = self
        state = .awaitingHead(exchange)
        context.write(wrapOutboundOut(.head(exchange.head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(exchange.bytes))), promise: nil)
    }

    /// Closes the connection without ending its exchange.
    func close() {
        if case .closed = state { return }
        state = .closed
        collector = nil
        context?.close(promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        pool.opened(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        lose(isCleanEnd: true)
        self.context = nil
        pool.closed(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        lose(isCleanEnd: true)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Many servers end an idle connection without TLS's close_notify.
        let isCloseNotifyMissing = if case .uncleanShutdown? = error as? NIOSSLError { true } else { false }
        lose(isCleanEnd: isCloseNotifyMissing || error is IOError || error is ChannelError, ConnectionFailure(error))
    }

    /// - Parameter isCleanEnd: true if the peer is gone and sent nothing wrong.
    private func lose(isCleanEnd: Bool, _ cause: ConnectionFailure = .lost) {
        let lost = state
        close()
        switch lost {
        case .idle: pool.forget(self)
        case .awaitingHead(let exchange) where isCleanEnd && isReused && !wire.hasRead: pool.retry(exchange)
        case .awaitingHead(let exchange), .readingBody(let exchange): pool.end(exchange, .failure(.connection(cause)))
        case .closed: break
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .awaitingHead(let exchange)):
            isKept = head.isKeepAlive && head.status != .switchingProtocols
            collector = ResponseCollector(head)
            state = .readingBody(exchange)
        case (.body(let part), .readingBody(let exchange)):
            if collector?.append(part) != true {
                close()
                pool.end(exchange, .failure(.tooLong))
            }
        case (.end, .readingBody(let exchange)):
            finish(exchange)
        case (_, .closed): break
        default: lose(isCleanEnd: false)
        }
    }

    private func finish(_ exchange: HTTPExchange) {
        guard let response = collector.take()?.response else { return lose(isCleanEnd: false) }
        if isKept, isOpen {
            state = .idle
            wire.hasRead = false
            idleSince = .now()
            pool.keep(self)
        } else {
            close()
        }
        pool.end(exchange, .success(response))
    }
}
