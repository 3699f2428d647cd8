import NIOCore
import NIOHTTP1

/// The handler below the response decoder. The connection writes a request's head, then one body part with the bytes of
/// the whole request. The handler sends only the body part. The decoder needs the head only to read the response to
/// this request.
final class HTTPWire: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = ByteBuffer

    /// True if a byte came since `hasRead` was last set to false.
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
