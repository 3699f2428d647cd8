import NIOCore
import NIOHTTP1

/// A template of JSON POSTs to one endpoint, with all bytes except the length and the body. It is a class, because all
/// requests share it.
public final class HTTPPostTemplate: Sendable {
    let origin: HTTPEndpoint.Origin
    /// The request's head. Only the response decoder uses it.
    let head: HTTPRequestHead
    private let prefix: ByteBuffer

    /// - Parameter userAgent: the `User-Agent` header's value, plain ASCII without line breaks.
    public init(_ endpoint: HTTPEndpoint, userAgent: String) {
        origin = endpoint.origin
        head = HTTPRequestHead(version: .http1_1, method: .POST, uri: endpoint.target)
        prefix = ByteBuffer(
            string: """
                POST \(endpoint.target) HTTP/1.1\r
                host: \(endpoint.authority)\r
                content-type: application/json\r
                accept: application/json\r
                user-agent: \(userAgent)\r
                content-length:\u{20}
                """)
    }

    /// Returns head and body in one buffer, so that one write sends them.
    func bytes(body: some HTTPBody) -> ByteBuffer {
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
