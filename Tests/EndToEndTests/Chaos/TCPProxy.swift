import NIOCore
import NIOPosix

@testable import AppStoreSimulation

/// A proxy between a worker and a service. A test can make the proxy slow or silent, or cut its connections.
///
/// `@unchecked Sendable`: only the event loop of the proxy uses the mutable state.
final class TCPProxy: @unchecked Sendable {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let loop: any EventLoop
    private var targetPort: Int
    private var listener: (any Channel)?
    private var pipes: [ObjectIdentifier: Pipe] = [:]
    private(set) var port = 0
    fileprivate var delay = TimeAmount.zero
    fileprivate var isSilent = false

    private init(targetPort: Int) {
        self.targetPort = targetPort
        loop = group.any()
    }

    static func start(to targetPort: Int) async throws -> TCPProxy {
        let proxy = TCPProxy(targetPort: targetPort)
        let listener = try await ServerBootstrap(group: proxy.group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { proxy.join($0) }
            .bind(host: "127.0.0.1", port: 0).get()
        proxy.port = listener.localAddress?.port ?? 0
        proxy.listener = listener
        return proxy
    }

    func stop() async {
        try? await listener?.close()
        try? await cut()
        try? await group.shutdownGracefully()
    }

    /// Delays all bytes that are read from now on, in both directions.
    func setDelay(milliseconds: Int64) async throws {
        try await loop.submit { self.delay = .milliseconds(milliseconds) }.get()
    }

    /// Holds back all bytes and closings of connections while `isSilent` is true, and delivers them afterwards.
    func setSilent(_ isSilent: Bool) async throws {
        try await loop.submit {
            self.isSilent = isSilent
            if !isSilent { for pipe in Array(self.pipes.values) { pipe.flush() } }
        }.get()
    }

    /// Sets the port for new connections. Open connections keep their port.
    func setTarget(port: Int) async throws {
        try await loop.submit { self.targetPort = port }.get()
    }

    func cut() async throws {
        try await loop.submit { for pipe in Array(self.pipes.values) { pipe.cut() } }.get()
    }

    private func join(_ client: any Channel) -> EventLoopFuture<Void> {
        ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: targetPort)
            .flatMap { server in
                self.loop.makeCompletedFuture {
                    let there = Pipe(self, to: server)
                    let back = Pipe(self, to: client)
                    try client.pipeline.syncOperations.addHandler(there)
                    try server.pipeline.syncOperations.addHandler(back)
                    self.pipes[ObjectIdentifier(there)] = there
                    self.pipes[ObjectIdentifier(back)] = back
                    client.setOption(.autoRead, value: true).cascade(to: nil)
                    server.setOption(.autoRead, value: true).cascade(to: nil)
                }
            }
    }

    fileprivate func remove(_ pipe: Pipe) { pipes[ObjectIdentifier(pipe)] = nil }
}

/// One direction of a connection.
///
/// `@unchecked Sendable`: only the event loop of the proxy uses a pipe.
private final class Pipe: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private enum Piece {
        case bytes(ByteBuffer)
        case end
    }

    private unowned let proxy: TCPProxy
    private let destination: any Channel
    private var source: (any Channel)?
    private var held: [Piece] = []
    private var nextAt = NIODeadline.now()

    init(_ proxy: TCPProxy, to destination: any Channel) {
        self.proxy = proxy
        self.destination = destination
    }

    func handlerAdded(context: ChannelHandlerContext) { source = context.channel }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { take(.bytes(unwrapInboundIn(data))) }

    func channelInactive(context: ChannelHandlerContext) { take(.end) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func flush() {
        let pieces = held
        held = []
        for piece in pieces { take(piece) }
    }

    func cut() {
        source?.resetConnection()
        destination.resetConnection()
        proxy.remove(self)
    }

    private func take(_ piece: Piece) {
        if proxy.isSilent { return held.append(piece) }
        let now = NIODeadline.now()
        nextAt = max(nextAt, now + proxy.delay)
        if nextAt <= now { return send(piece) }
        destination.eventLoop.scheduleTask(deadline: nextAt) { [self] in
            if proxy.isSilent { held.append(piece) } else { send(piece) }
        }
    }

    private func send(_ piece: Piece) {
        switch piece {
        case .bytes(let bytes): destination.writeAndFlush(bytes, promise: nil)
        case .end:
            destination.close(promise: nil)
            proxy.remove(self)
        }
    }
}
