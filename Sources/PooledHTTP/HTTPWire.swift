import NIOCore
import NIOHTTP1

/// The handler below the response decoder. A request comes as its head and as one body part that holds the whole
/// request's bytes. The decoder learns from the head which request the response answers; only the bytes are sent.
final class HTTPWire: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = ByteBuffer

    /// True if a byte came since this was last set to false.
    var hasRead = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasRead = true
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(.byteBuffer(let bytes)) = unwrapOutboundIn(data) else {
            promise?.succeed()
            return
        }
        context.write(wrapOutboundOut(bytes), promise: promise)
    }
}
