import NIOCore
import NIOHTTP1

/// POST requests to one endpoint: all their bytes but the length and the body are made once.
struct HTTPRequest: Sendable {
    let origin: HTTPEndpoint.Origin
    /// What the response decoder is told of the request.
    let head: HTTPRequestHead
    private let prefix: ByteBuffer

    init(_ endpoint: HTTPEndpoint) {
        origin = endpoint.origin
        head = HTTPRequestHead(version: .http1_1, method: .POST, uri: endpoint.target)
        prefix = ByteBuffer(
            string: """
                POST \(endpoint.target) HTTP/1.1\r
                host: \(endpoint.authority)\r
                content-type: application/json\r
                accept: application/json\r
                user-agent: receiptd\r
                content-length:\u{20}
                """)
    }

    /// Head and body in one buffer, so that one write sends them.
    func bytes(body: ByteBuffer) -> ByteBuffer {
        let length = String(body.readableBytes)
        var bytes = ByteBuffer()
        bytes.reserveCapacity(prefix.readableBytes + length.utf8.count + 4 + body.readableBytes)
        bytes.writeImmutableBuffer(prefix)
        bytes.writeString(length)
        bytes.writeStaticString("\r\n\r\n")
        bytes.writeImmutableBuffer(body)
        return bytes
    }
}
