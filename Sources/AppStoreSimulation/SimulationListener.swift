import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The listening socket and its connections. The socket can close, and open again on the same port.
final class SimulationListener: Sendable {
    private struct State: Sendable {
        var channel: (any Channel)?
        var connections: [ObjectIdentifier: any Channel] = [:]
        var port: Int
        /// The reservation that keeps the port while the listener is closed; nil while the listener is open.
        var reservation: PortReservation?
    }

    private let group: any EventLoopGroup
    private let host: String
    private let service: VerifyReceiptService
    private let state: Mutex<State>

    /// - Parameter port: 0 lets the system choose.
    init(group: any EventLoopGroup, host: String, port: Int, service: VerifyReceiptService) {
        self.group = group
        self.host = host
        self.service = service
        state = Mutex(State(port: port))
    }

    /// The port. If the system chooses the port, this is 0 until the listener has opened.
    var port: Int { state.withLock { $0.port } }

    var isOpen: Bool { state.withLock { $0.channel != nil } }

    func open() -> EventLoopFuture<Void> {
        let control = ControlAPI(
            service: service, outages: OutageSwitch(service: service, listener: self, group: group))
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // One read gets a usual request completely, so a second read would find nothing.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 16_384))
            .childChannelInitializer { [service, weak self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
                        ConnectionHandler(service: service, control: control, listener: self))
                }
            }
            .bind(host: host, port: port)
            .map { [self] channel in
                state.withLock {
                    $0.channel = channel
                    $0.port = channel.localAddress?.port ?? $0.port
                    $0.reservation = nil
                }
            }
    }

    /// Closes the listener, and resets the existing connections.
    func closeAndReset() -> EventLoopFuture<Void> {
        let (channel, connections) = state.withLock { state in
            defer { state.channel = nil }
            return (state.channel, Array(state.connections.values))
        }
        for connection in connections { connection.resetConnection() }
        guard let channel else { return group.any().makeSucceededVoidFuture() }
        // Closing a listener that is already closed is no error.
        return channel.close().recover { _ in }.map { [self] in
            state.withLock { $0.reservation = PortReservation(host: host, port: $0.port) }
        }
    }

    func add(_ channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)] = channel }
    }

    func remove(_ channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)] = nil }
    }
}
