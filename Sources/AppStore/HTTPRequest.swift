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
    func bytes(body: VerifyReceiptBody) -> ByteBuffer {
        let length = String(body.count)
        var bytes = ByteBufferAllocator().buffer(
            capacity: prefix.readableBytes + length.utf8.count + 4 + body.count)
        bytes.writeImmutableBuffer(prefix)
        bytes.writeString(length)
        bytes.writeStaticString("\r\n\r\n")
        body.write(to: &bytes)
        return bytes
    }
}
