import NIOCore
import NIOPosix

/// A broker that refuses every SASL login. It knows only the requests ApiVersions, SaslHandshake and SaslAuthenticate
/// (https://kafka.apache.org/protocol).
struct RefusingBroker {
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel

    /// - Parameter mechanisms: the SASL mechanisms that the broker offers.
    static func start(mechanisms: [String]) async throws -> RefusingBroker {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(mechanisms: mechanisms))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return RefusingBroker(group: group, listener: listener)
    }

    var address: String { "127.0.0.1:\(listener.localAddress?.port ?? 0)" }

    func shutdown() async throws {
        try await listener.close()
        try await group.shutdownGracefully()
    }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let mechanisms: [String]
        private var received = ByteBuffer()

        init(mechanisms: [String]) { self.mechanisms = mechanisms }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            received.writeBuffer(&bytes)
            while let length = received.getInteger(at: received.readerIndex, as: Int32.self),
                received.readableBytes >= 4 + Int(length), var request = received.readSlice(length: 4 + Int(length))
            {
                request.moveReaderIndex(forwardBy: 4)
                guard let key = request.readInteger(as: Int16.self), let version = request.readInteger(as: Int16.self),
                    let correlation = request.readInteger(as: Int32.self), let body = answer(key, version)
                else { return context.close(promise: nil) }
                var response = ByteBuffer()
                response.writeInteger(Int32(4 + body.readableBytes))
                response.writeInteger(correlation)
                response.writeImmutableBuffer(body)
                context.writeAndFlush(wrapOutboundOut(response), promise: nil)
            }
        }

        private func answer(_ key: Int16, _ version: Int16) -> ByteBuffer? {
            var body = ByteBuffer()
            switch key {
            case 18:
                // After UNSUPPORTED_VERSION (35) the client uses version 0, whose format every client knows.
                body.writeInteger(Int16(version == 0 ? 0 : 35))
                let known: [(Int16, Int16)] = [(3, 4), (17, 1), (18, 0), (36, 0)]
                body.writeInteger(Int32(known.count))
                for (key, newest) in known { body.writeMultipleIntegers(key, Int16(0), newest) }
            case 17:
                // 33 is UNSUPPORTED_SASL_MECHANISM.
                body.writeInteger(Int16(mechanisms.contains("PLAIN") ? 0 : 33))
                body.writeInteger(Int32(mechanisms.count))
                for mechanism in mechanisms { write(mechanism, to: &body) }
            case 36:
                // 58 is SASL_AUTHENTICATION_FAILED.
                body.writeInteger(Int16(58))
                write("Authentication failed: Invalid username or password", to: &body)
                body.writeInteger(Int32(0))
            default:
                return nil
            }
            return body
        }

        private func write(_ text: String, to body: inout ByteBuffer) {
            body.writeInteger(Int16(text.utf8.count))
            body.writeString(text)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
