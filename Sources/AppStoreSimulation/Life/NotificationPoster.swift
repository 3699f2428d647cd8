import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Posts notifications as Apple does: with a new connection for each, and with a limit of some seconds for the answer.
struct NotificationPoster: Sendable {
    /// The longest wait for the server's answer. Apple also waits some seconds.
    private static let timeout = TimeAmount.seconds(10)

    private let host: String
    private let port: Int
    private let path: String

    /// Returns nil unless the address is a URL with the scheme `http` and a host.
    init?(url text: String) {
        guard let url = URLComponents(string: text), url.scheme == "http", let host = url.host, !host.isEmpty else {
            return nil
        }
        self.host = host
        port = url.port ?? 80
        path =
            (url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath)
            + (url.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    func post(_ body: String) async -> ToldNotification.AttemptResult {
        let group = MultiThreadedEventLoopGroup.singleton
        let answered = group.next().makePromise(of: ToldNotification.AttemptResult.self)
        let channel = try? await ClientBootstrap(group: group)
            .connectTimeout(Self.timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(AnswerReader(answered))
                }
            }
            .connect(host: host, port: port).get()
        guard let channel else {
            answered.succeed(.noResponse)
            return .noResponse
        }
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path)
        head.headers = [
            "host": "\(host):\(port)", "content-type": "application/json", "content-length": "\(body.utf8.count)",
            "connection": "close",
        ]
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: body))), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        let deadline = channel.eventLoop.scheduleTask(in: Self.timeout) { answered.succeed(.timedOut) }
        let result = (try? await answered.futureResult.get()) ?? .other
        deadline.cancel()
        channel.close(promise: nil)
        return result
    }

    /// Reports once whether the server's answer has a status from 200 to 206, which Apple counts as success.
    private final class AnswerReader: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        private let answered: EventLoopPromise<ToldNotification.AttemptResult>

        init(_ answered: EventLoopPromise<ToldNotification.AttemptResult>) { self.answered = answered }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data) else { return }
            answered.succeed((200...206).contains(head.status.code) ? .success : .unsuccessfulHTTPResponseCode)
        }

        func channelInactive(context: ChannelHandlerContext) { answered.succeed(.noResponse) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
