import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server on this machine that sends any bytes, well-formed or not, as the answer to each request.
struct RawServer {
    struct Reply: Sendable {
        var bytes: String
        var isLast = false

        static let answer = Reply(bytes: "HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n" + body)
        static let body = #"{"status":21010}"#
        static let close = Reply(bytes: "", isLast: true)
    }

    final class Counts: Sendable {
        private let counts = Mutex((connections: 0, requests: 0))

        var connections: Int { counts.withLock { $0.connections } }
        var requests: Int { counts.withLock { $0.requests } }

        fileprivate func addConnection() -> Int {
            counts.withLock { counts in
                counts.connections += 1
                return counts.connections
            }
        }

        fileprivate func addRequest() { counts.withLock { $0.requests += 1 } }
    }

    let counts: Counts
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel

    /// - Parameter reply: returns the reply to a request, from the number of its connection and its number on the
    ///   connection. Both numbers count from 1.
    static func start(
        _ reply: @escaping @Sendable (_ connection: Int, _ request: Int) -> Reply
    ) async throws -> RawServer {
        let counts = Counts()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(HTTPRequestDecoder()), Replying(counts: counts, reply: reply))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return RawServer(counts: counts, group: group, listener: listener)
    }

    var url: String { "http://127.0.0.1:\(listener.localAddress?.port ?? 0)/verifyReceipt" }

    func shutdown() async throws {
        try await group.shutdownGracefully()
    }

    private final class Replying: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        private let counts: Counts
        private let reply: @Sendable (Int, Int) -> Reply
        private let connection: Int
        private var request = 0

        init(counts: Counts, reply: @escaping @Sendable (Int, Int) -> Reply) {
            self.counts = counts
            self.reply = reply
            connection = counts.addConnection()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            counts.addRequest()
            request += 1
            let reply = reply(connection, request)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply.bytes)), promise: nil)
            if reply.isLast { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
