import NIOCore
import NIOHTTP1

/// Reads one request at a time from a connection, and answers it. If the client sends a request before it has the
/// answer to the last one, the handler closes the connection.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    /// The most bytes of a request's body. A receipt of some hundreds of purchases is far smaller.
    static let maximumBody = 4 * 1024 * 1024
    /// The most bytes of a too large body that the handler reads and discards. So a client that sends its whole body
    /// before it reads the answer still gets the answer 413.
    static let maximumDrained = 64 * 1024 * 1024

    private static let serverAPIPath = "/inApps/"

    private let service: VerifyReceiptService
    private let control: ControlAPI
    private weak var listener: SimulationListener?

    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var receivedBytes = 0
    /// True from the end of a request to its answer. It stays true if the simulation never answers the request.
    private var isAnswering = false
    /// True if the request under way is part of `SimulationCounters.concurrentRequests`.
    private var isCounted = false
    private var timer: Scheduled<Void>?

    init(service: VerifyReceiptService, control: ControlAPI, listener: SimulationListener?) {
        self.service = service
        self.control = control
        self.listener = listener
    }

    func channelActive(context: ChannelHandlerContext) {
        listener?.add(context.channel)
        service.update { $0.connectionOpened() }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        listener?.remove(context.channel)
        finishCounting()
        service.update { $0.connectionClosed() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, !isAnswering else {
            context.close(promise: nil)
            return
        }
        isAnswering = true
        plain(context, status: 400, "not HTTP\n", isLast: true)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard !isAnswering else {
                context.close(promise: nil)
                return
            }
            self.head = head
            receivedBytes = 0
            if head.headers.contains(name: "expect") {
                let interim = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")
                context.writeAndFlush(wrapOutboundOut(interim), promise: nil)
            }
        case .body(var part):
            receivedBytes += part.readableBytes
            if receivedBytes > Self.maximumDrained {
                context.close(promise: nil)
            } else if receivedBytes > Self.maximumBody {
                body = ByteBuffer()
            } else if body.readableBytes == 0 {
                body = part
            } else {
                body.writeBuffer(&part)
            }
        case .end:
            guard let head else { return }
            self.head = nil
            let body = body
            self.body = ByteBuffer()
            isAnswering = true
            answer(context, head, body)
        }
    }

    private func answer(_ context: ChannelHandlerContext, _ head: HTTPRequestHead, _ body: ByteBuffer) {
        let isLast = !head.isKeepAlive
        guard receivedBytes <= Self.maximumBody else {
            plain(context, status: 413, "the body must have at most \(Self.maximumBody) bytes\n", isLast: true)
            return
        }
        switch head.uri {
        case "/production/verifyReceipt", "/verifyReceipt":
            verify(context, .production, head, body)
        case "/sandbox/verifyReceipt":
            verify(context, .sandbox, head, body)
        case let uri where uri.contains(Self.serverAPIPath):
            askServerAPI(context, head, body)
        default:
            let reply = control.answer(head.method, head.uri, body)
            var response = HTTPResponseWriter(
                context.channel.allocator.buffer(capacity: 512), status: reply.status, isLast: isLast)
            response.buffer.writeBytes(reply.body)
            send(.response(response.finished()), context, isLast: isLast)
            if let afterwards = reply.afterwards { context.eventLoop.execute(afterwards) }
        }
    }

    private func verify(
        _ context: ChannelHandlerContext, _ endpoint: SimulatedEnvironment, _ head: HTTPRequestHead, _ body: ByteBuffer
    ) {
        let isLast = !head.isKeepAlive
        isCounted = true
        let turn = ConnectionTurn(
            endpoint: endpoint, isLast: isLast, buffer: context.channel.allocator.buffer(capacity: 4096))
        let plan = service.answer(isPost: head.method == .POST, body: body, on: turn)
        carryOut(plan, context, isLast: isLast)
    }

    /// Answers paths such as `/production/inApps/v1/transactions/1`. A path without an environment is Production's.
    private func askServerAPI(_ context: ChannelHandlerContext, _ head: HTTPRequestHead, _ body: ByteBuffer) {
        let isLast = !head.isKeepAlive
        guard
            let request = ServerAPIRequest(
                method: head.method.rawValue, uri: head.uri, body: Array(body.readableBytesView))
        else {
            plain(context, status: 404, "no such path or method\n", isLast: isLast)
            return
        }
        isCounted = true
        let turn = ConnectionTurn(
            endpoint: head.uri.hasPrefix("/sandbox/") ? .sandbox : .production, isLast: isLast,
            buffer: context.channel.allocator.buffer(capacity: 8192))
        let plan = service.answer(request, authorization: head.headers.first(name: "authorization"), on: turn)
        carryOut(plan, context, isLast: isLast)
    }

    private func carryOut(_ plan: PlannedAnswer, _ context: ChannelHandlerContext, isLast: Bool) {
        guard plan.delay > 0 else { return send(plan.wire, context, isLast: isLast) }
        after(plan.delay, context) { [self] in send(plan.wire, context, isLast: isLast) }
    }

    private func send(_ wire: WireAnswer, _ context: ChannelHandlerContext, isLast: Bool) {
        switch wire {
        case .response(let bytes):
            write(bytes, context, thenClose: isLast)
        case .drip(var bytes, let bodyIndex, let milliseconds, let chunkBytes):
            if let head = bytes.readSlice(length: bodyIndex - bytes.readerIndex) {
                context.writeAndFlush(wrapOutboundOut(head), promise: nil)
            }
            drip(bytes, context, Pace(milliseconds: milliseconds, chunkBytes: chunkBytes), isLast: isLast)
        case .thenSilence(let bytes):
            context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        case .thenClose(let bytes):
            write(bytes, context, thenClose: true)
        case .silence:
            break
        case .close:
            finishCounting()
            context.close(promise: nil)
        case .reset:
            finishCounting()
            context.channel.resetConnection()
        }
    }

    private struct Pace {
        let milliseconds: Int
        let chunkBytes: Int
    }

    private func drip(_ bytes: ByteBuffer, _ context: ChannelHandlerContext, _ pace: Pace, isLast: Bool) {
        var rest = bytes
        guard rest.readableBytes > pace.chunkBytes, let chunk = rest.readSlice(length: pace.chunkBytes) else {
            write(rest, context, thenClose: isLast)
            return
        }
        context.writeAndFlush(wrapOutboundOut(chunk), promise: nil)
        after(Int64(min(pace.milliseconds, 3_600_000)) * 1_000_000, context) { [self, rest] in
            drip(rest, context, pace, isLast: isLast)
        }
    }

    /// Writes the last bytes of an answer. Then closes the connection, or makes the connection ready for the next
    /// request.
    private func write(_ bytes: ByteBuffer, _ context: ChannelHandlerContext, thenClose: Bool) {
        finishCounting()
        guard thenClose else {
            isAnswering = false
            context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
            return
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
    }

    private func plain(_ context: ChannelHandlerContext, status: Int, _ text: String, isLast: Bool) {
        var response = HTTPResponseWriter(
            context.channel.allocator.buffer(capacity: 256), status: status, contentType: "text/plain", isLast: isLast)
        response.buffer.writeString(text)
        write(response.finished(), context, thenClose: isLast)
    }

    private func after(_ nanoseconds: Int64, _ context: ChannelHandlerContext, _ act: @escaping () -> Void) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(nanoseconds)) { [weak self] in
            self?.timer = nil
            act()
        }
    }

    private func finishCounting() {
        guard isCounted else { return }
        isCounted = false
        service.update { $0.finished() }
    }
}
